/* smolbeam's scores and choices alone: scorer PART reads the file IN and writes the file OUT.
 *
 *     log     f32 x...                                   -> f32 log x...
 *     likely  u32 k, u32 vocab, f32 logits [vocab]       -> u32 token and f32 log probability of the k best
 *     assign  u32 width, u32 from [width]                -> u32 bits, u32 from and token [width] by slot, the
 *                                                           token being the place in the input */

#define SMOLBEAM_NO_MAIN
#include "../../../smolprobe/smolbeam.c"

static void log_all(const float *x, uint64 size, int out) {
    for (uint64 i = 0; i < size / sizeof *x; i++) {
        float y = logarithm(x[i]);
        write_all(out, &y, sizeof y);
    }
}

static void likely_all(const uint *in, int out) {
    struct candidate *best = reserve(in[0] * sizeof *best);
    find_likeliest(best, in[0], (const float *)(in + 2), in[1]);
    write_all(out, best, in[0] * sizeof *best);
}

static void assign_all(const uint *in, int out) {
    struct choice chosen[MAX_WIDTH];
    struct work w = {.width = in[0]};
    for (uint i = 0; i < w.width; i++)
        chosen[i] = (struct choice){in[1 + i], i, 0.0f};
    uint room = assign(&w, chosen);
    write_all(out, &room, sizeof room);
    for (uint i = 0; i < w.width; i++)
        write_all(out, &chosen[i], 2 * sizeof(uint));
}

int main(int argc, char **argv) {
    uint64 size;
    int in = open_sized("IN", &size), out = create("OUT");
    if (argc != 2 || in < 0)
        fatal("usage: scorer log|likely|assign\n");
    void *file = reserve(size);
    read_all(in, "IN", file, size);
    if (strcmp(argv[1], "log") == 0)
        log_all(file, size, out);
    else if (strcmp(argv[1], "likely") == 0)
        likely_all(file, out);
    else
        assign_all(file, out);
    return 0;
}
