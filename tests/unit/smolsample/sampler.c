/* smolsample's sampler alone: sampler PART reads the file IN and writes the file OUT.
 *
 *     random   u64 seed, u64 n                           -> u64 numbers [n]
 *     best     u32 k, u32 vocab, f32 logits [vocab]      -> u32 tokens [k]
 *     choose   f32 temperature, f32 top_p, u32 top_k,
 *              u32 n, u64 seed, f32 logits [vocab]       -> u32 tokens [n]
 *     decimal  texts of numbers, each ended by a NUL     -> f32 numbers up to 100 */

#define SMOLSAMPLE_NO_MAIN
#include "../../../smolprobe/smolsample.c"

static void random_all(const uint64 *in, int out) {
    uint64 state = in[0];
    for (uint64 i = 0; i < in[1]; i++) {
        uint64 number = next_random(&state);
        write_all(out, &number, sizeof number);
    }
}

static void best_all(const uint *in, int out) {
    struct candidate *best = reserve(in[0] * sizeof *best);
    find_best(best, in[0], (const float *)(in + 2), in[1]);
    for (uint i = 0; i < in[0]; i++)
        write_all(out, &best[i].token, sizeof best[i].token);
}

struct choice {
    float temperature, top_p;
    uint top_k, n;
    uint64 seed;
    float logits[];
};

static void choose_all(const struct choice *in, uint64 size, int out) {
    uint vocab = (uint)((size - sizeof *in) / sizeof(float));
    struct sampler s = {.temperature = in->temperature, .top_p = in->top_p, .top_k = in->top_k};
    uint64 state = in->seed;
    s.best = reserve(s.top_k * sizeof *s.best);
    for (uint i = 0; i < in->n; i++) {
        uint token = choose(&s, in->logits, vocab, &state);
        write_all(out, &token, sizeof token);
    }
}

static void decimal_all(const char *text, uint64 size, int out) {
    for (const char *end = text + size; text < end; text += strlen(text) + 1) {
        float value = parse_decimal("decimal", text, 100);
        write_all(out, &value, sizeof value);
    }
}

int main(int argc, char **argv) {
    uint64 size;
    int in = open_sized("IN", &size), out = create("OUT");
    if (argc != 2 || in < 0)
        fatal("usage: sampler random|best|choose|decimal\n");
    void *file = reserve(size);
    read_all(in, "IN", file, size);
    if (strcmp(argv[1], "random") == 0)
        random_all(file, out);
    else if (strcmp(argv[1], "best") == 0)
        best_all(file, out);
    else if (strcmp(argv[1], "choose") == 0)
        choose_all(file, size, out);
    else
        decimal_all(file, size, out);
    return 0;
}
