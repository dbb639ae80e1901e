/* smolprobe's parts, one by one: pieces PART reads the file IN and writes the file OUT.
 *
 *     exp     float32 x...                         -> float32 e^x...
 *     dots    u32 rows, u32 cols, f32 scale[rows],
 *             int8 q[rows][cols], f32 x[cols]      -> int32 q times x rounded to integers [rows]
 *     matmul  the same                             -> float32 [rows]
 *     encode  texts, each ended by a NUL; TOK.BIN  -> u32 count and u32 ids of each */

#define SMOLPROBE_NO_MAIN
#pragma GCC diagnostic ignored "-Wunused-function"
#include "../../../smolprobe/smolprobe.c"

static void exp_all(const float *x, uint64 size, int out) {
    for (uint64 i = 0; i < size / sizeof *x; i++) {
        float y = exponential(x[i]);
        write_all(out, &y, sizeof y);
    }
}

static void multiply(const uint *file, int out, int as_dots) {
    const uint8 *at = (const uint8 *)(file + 2);
    struct matrix w = take_matrix(&at, file[0], file[1]);
    struct packed packed = {.word = reserve(w.cols * 4)};
    float *product = reserve(w.rows * sizeof *product);
    int *dots = reserve(w.rows * sizeof *dots);

    pack(&packed, (const float *)at, w.cols);
    for (uint r = 0; r < w.rows; r += 8)
        dot_eight(dots + r, w.q + (uint64)r * w.cols, w.cols, &packed);
    matmul(product, &w, &packed);
    write_all(out, as_dots ? (const void *)dots : product, w.rows * sizeof *dots);
}

static void encode_all(const char *text, uint64 size, int out) {
    static struct tokenizer tokenizer;
    static uint id[PGSIZE];
    uint vocab;
    read_all(open("TOK.BIN", O_RDONLY), "TOK.BIN", id, 3 * sizeof *id);
    vocab = id[2];
    map_tokenizer(&tokenizer, vocab);
    for (const char *end = text + size; text < end; text += strlen(text) + 1) {
        struct ids ids = {id, 0, LENGTH(id)};
        encode(&tokenizer, text, &ids);
        write_all(out, &ids.count, sizeof ids.count);
        write_all(out, id, ids.count * sizeof *id);
    }
}

int main(int argc, char **argv) {
    uint64 size;
    int in = open_sized("IN", &size), out = create("OUT");
    if (argc != 2 || in < 0)
        fatal("usage: pieces exp|dots|matmul|encode\n");
    void *file = reserve(size);
    read_all(in, "IN", file, size);
    if (strcmp(argv[1], "exp") == 0)
        exp_all(file, size, out);
    else if (strcmp(argv[1], "encode") == 0)
        encode_all(file, size, out);
    else
        multiply(file, out, strcmp(argv[1], "dots") == 0);
    return 0;
}
