/* packed_loop [TOKENS]: the packed multiply-adds of SmolLM2-135M's tokens, and nothing else of the model.
 *
 * What a token costs smolprobe is measured against this. It takes the matrices' sizes and the inner loop from
 * smolprobe.c, and a buffer as large as all weights together. Of system calls it makes sbrk, write and exit
 * only, so that it runs on a bare CPU as well as in the machine. Every weight and every activation is 1: the
 * sum of all dot products is the number of multiply-adds. */

#define SMOLPROBE_NO_MAIN
#pragma GCC diagnostic ignored "-Wunused-function"
#include "smolprobe.c"

/* The sum of q [rows][cols] times x [cols]. Page-aligned, as matmul() is. */
__attribute__((noinline, aligned(PGSIZE))) static uint64 product(const int8 *q, uint rows, uint cols,
                                                                 const struct packed *x) {
    uint64 sum = 0;
    for (uint r = 0; r < rows; r += 8, q += 8ul * cols) {
        int dot[8];
        dot_eight(dot, q, cols, x);
        for (uint i = 0; i < 8; i++)
            sum += (uint64)dot[i];
    }
    return sum;
}

/* x [cols] of ones, in integers. */
static struct packed ones(uint cols) {
    struct packed x = {.word = reserve(cols / 2 * sizeof(uint64))};
    float *one = reserve(cols * sizeof(float));
    for (uint i = 0; i < cols; i++)
        one[i] = 1.0f;
    pack(&x, one, cols);
    return x;
}

/* The products with all of a token's matrices, which lie in `q` one after another; how many multiply-adds
 * their sums account for. `narrow` is for matrices of dim columns, `wide` for those of hidden columns. */
static uint64 token(const struct config *c, const int8 *q, const struct packed *narrow,
                    const struct packed *wide) {
    const uint rows[] = {query_dim(c), kv_dim(c), kv_dim(c), c->dim, c->hidden, c->hidden};
    uint64 sum = 0, wide_sum = 0;
    for (uint layer = 0; layer < c->layers; layer++) {
        for (int i = 0; i < LENGTH(rows); i++) {
            sum += product(q, rows[i], c->dim, narrow);
            q += rows[i] * c->dim;
        }
        wide_sum += product(q, c->dim, c->hidden, wide);
        q += c->dim * c->hidden;
    }
    sum += product(q, c->vocab, c->dim, narrow);
    return sum / activation_max(c->dim) + wide_sum / activation_max(c->hidden);
}

int main(int argc, char **argv) {
    const struct config *c = &smollm2_135m;
    struct packed narrow = ones(c->dim), wide = ones(c->hidden);
    uint64 size = (uint64)c->vocab * c->dim + c->layers * layer_weights(c);
    int8 *q = reserve(size);
    memset(q, 1, size);
    for (int left = argc > 1 ? atoi(argv[1]) : 1; left > 0; left--)
        printf("%lu multiply-adds\n", token(c, q, &narrow, &wide));
    return 0;
}
