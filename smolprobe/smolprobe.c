/* smolprobe: how many pages of its KV cache does a language model use?
 *
 * It loads SmolLM2 (a decoder of the Llama family, weights in int8), reserves the KV cache for the
 * longest sequence that it could decode, decodes a short one greedily, and asks the kernel before,
 * between and after how many pages it holds. Where sbrk() maps at once, the reservation costs all of
 * them; where it maps on demand, the decode costs what it touches.
 *
 * Read it from top to bottom, as a paper: model, allocator, assets, quantised matmul, transformer
 * blocks, forward, tokenizer, probe, options, main. Shapes stand in brackets, the outermost dimension
 * first; P is the number of positions so far. The stack is one page: everything large is static, or
 * on the heap, or (the tokenizer) a mapped file.
 *
 * How many pages are new. K and V are one reservation each, f32 [layers][seq][kv_heads][head_dim]. For
 * SmolLM2-135M a layer's array takes 196,608 bytes, 48 pages exactly, so each of the 60 arrays starts
 * at the same offset o in its page, the offset of K itself. T steps write 768 T bytes of each array:
 *
 *     new pages = 60 * ceil((o + 768 T) / 4096) - (o > 0 ? 1 : 0)
 *
 * for o + 768 T up to 48 pages (beyond that, neighbouring arrays share pages). The 1 is K's first page,
 * which what lies before K has mapped already; V's first page is K's last, and it is new. With T = 12:
 * o = 0 gives 180, up to 3,072 gives 179, above that 239. Page tables come on top of these pages, one
 * for each 2 MiB that was not in use before. */

#include "user.h"

typedef signed char int8;
typedef uint64 __attribute__((may_alias)) eight; /* weights at once */

static const char *program = "smolprobe"; /* the last part of argv[0]; it begins every line */

#define say(format, ...) printf("[%s] " format "\n", program, ##__VA_ARGS__)
#define die(format, ...) fatal("%s: " format "\n", program, ##__VA_ARGS__)

static float as_float(uint bits) {
    union { uint bits; float value; } u = {.bits = bits};
    return u.value;
}

static uint as_bits(float value) {
    union { float value; uint bits; } u = {.value = value};
    return u.bits;
}

/* x, at most 2^22 in size, to the nearest integer, ties to even: adding 1.5 * 2^23 rounds there and
 * leaves the integer in the low bits. */
static inline int to_nearest(float x) {
    return (int)(as_bits(x + 12582912.0f) - 0x4b400000);
}

/* =================================================================================================
 * Model
 * ================================================================================================= */

struct config {
    uint dim;      /* of the residual stream */
    uint hidden;   /* of the feed-forward network */
    uint layers;
    uint heads;    /* of queries; heads / kv_heads of them share a key and a value */
    uint kv_heads;
    uint head_dim;
    uint vocab;
    uint seq_len;         /* what the model was trained for */
    uint runtime_seq_len; /* what the KV cache is reserved for */
    float rms_eps;
    float rope_theta;
};

/* SmolLM2-135M, for an image without CFG.BIN. */
static const struct config smollm2_135m = {576, 1536, 30, 9, 3, 64, 49152, 2048, 256, 1e-5f, 100000.0f};

struct matrix {          /* W[r][c] = scale[r] * q[r][c] */
    const float *scale;  /* [rows] */
    const int8 *q;       /* [rows][cols], -127..127 */
    uint rows, cols;     /* outputs, inputs */
};

struct layer {
    const float *input_norm; /* [dim] */
    const float *post_norm;  /* [dim] */
    struct matrix wq;        /* [heads * head_dim][dim] */
    struct matrix wk, wv;    /* [kv_heads * head_dim][dim] */
    struct matrix wo;        /* [dim][heads * head_dim] */
    struct matrix gate, up;  /* [hidden][dim] */
    struct matrix down;      /* [dim][hidden] */
};

/* An activation vector as the packed multiply takes it. */
struct packed {
    uint64 *word; /* [cols / 2] two integers each, see "Quantised matmul" */
    long sum;     /* of all integers */
    float scale;  /* x[c] = scale * integer[c] */
};

struct model {
    struct config config;
    struct matrix embedding;  /* [vocab][dim]; it is the output matrix too */
    const float *final_norm;  /* [dim] */
    struct layer *layer;      /* [layers] */
    const float *rope;        /* [runtime_seq_len][2][head_dim / 2]: cos, then sin */

    uint *seq;                /* [runtime_seq_len] token ids: the prompt, then what was chosen */
    float *x;                 /* [dim] the residual stream */
    float *normed;            /* [dim] x, as a block takes it */
    float *delta;             /* [dim] what a block adds to x */
    float *query;             /* [heads][head_dim] */
    float *mixed;             /* [heads][head_dim] values, mixed by attention */
    float *score;             /* [P] of one head */
    float *gate, *up;         /* [hidden] */
    struct packed packed;     /* [columns of the widest matrix] */
    float *logits;            /* [vocab] */

    float *key;               /* [layers][runtime_seq_len][kv_heads][head_dim] */
    float *value;             /* the same */
};

static uint query_dim(const struct config *c) {
    return c->heads * c->head_dim;
}

/* Floats in the key (and in the value) of one position in one layer. */
static uint kv_dim(const struct config *c) {
    return c->kv_heads * c->head_dim;
}

/* Columns of the widest matrix. */
static uint widest(const struct config *c) {
    uint wide = c->dim > c->hidden ? c->dim : c->hidden;
    return wide > query_dim(c) ? wide : query_dim(c);
}

/* Bytes of K, and of V. */
static uint64 kv_bytes(const struct config *c) {
    return (uint64)c->layers * c->runtime_seq_len * kv_dim(c) * sizeof(float);
}

/* Vectors are gone through eight floats at a time; up to 65,536 keeps activation_max() useful. */
static int is_length(uint n) {
    return n > 0 && n % 8 == 0 && n <= 65536;
}

static int is_valid(const struct config *c) {
    return c->layers > 0 && c->layers <= 100 && is_length(c->dim) && is_length(c->hidden) &&
           is_length(c->head_dim) && c->heads <= 65536 / c->head_dim && c->kv_heads > 0 &&
           c->heads >= c->kv_heads && c->heads % c->kv_heads == 0 && c->vocab > 0 && c->vocab % 8 == 0 &&
           c->vocab <= 1 << 24 && c->runtime_seq_len > 0 && c->runtime_seq_len <= 65536;
}

/* =================================================================================================
 * Allocator: a break that only moves up
 * ================================================================================================= */

/* 16-byte aligned, given back by nobody. What is reserved is not touched here. */
static void *reserve(uint64 bytes) {
    uint64 rounded = (bytes + 15) & ~15ul;
    void *start = rounded <= 0x7fffffff ? sbrk((int)rounded) : (void *)-1;
    if (start == (void *)-1)
        die("sbrk failed for %lu bytes", bytes);
    return start;
}

static uint64 heap_end(void) {
    return (uint64)sbrk(0);
}

/* =================================================================================================
 * Assets: files in the current folder, little-endian
 * ================================================================================================= */

/* An open file and its size; -1 where there is none. */
static int open_sized(const char *name, uint64 *size) {
    struct stat st;
    int fd = open(name, O_RDONLY);
    if (fd < 0)
        return -1;
    if (fstat(fd, &st) < 0 || st.type != T_FILE)
        die("failed to read %s", name);
    *size = st.size;
    return fd;
}

static void read_all(int fd, const char *name, void *to, uint64 size) {
    uint8 *at = to;
    while (size > 0) {
        int n = read(fd, at, size < 1 << 30 ? (int)size : 1 << 30);
        if (n < 0)
            die("failed to read %s; is there memory for it?", name);
        if (n == 0)
            die("size mismatch in %s", name);
        at += n;
        size -= (uint64)n;
    }
    close(fd);
}

/* The whole file on the heap. NULL when its size is not `size`; *found is what it is. */
static void *load(const char *name, uint64 size, uint64 *found) {
    int fd = open_sized(name, found);
    if (fd < 0)
        die("missing %s", name);
    if (*found != size)
        return NULL;
    void *data = reserve(size);
    read_all(fd, name, data, size);
    return data;
}

#define CFG_MAGIC 0x31474643 /* "CFG1" */
#define CFG_V1_BYTES 48
#define CFG_V2_BYTES 84

static struct config config_v1(const uint *f) {
    struct config c = {.dim = f[2], .hidden = f[3], .layers = f[4], .heads = f[5], .kv_heads = f[6],
                       .vocab = f[7], .seq_len = f[8], .runtime_seq_len = f[9],
                       .rms_eps = as_float(f[10]), .rope_theta = as_float(f[11])};
    c.head_dim = c.heads ? c.dim / c.heads : 0;
    return c;
}

static struct config config_v2(const uint *f) {
    if (f[2] != 0)
        die("expected SmolLM assets, got Qwen3.5");
    struct config c = {.dim = f[4], .hidden = f[5], .layers = f[6], .heads = f[7], .kv_heads = f[8],
                       .head_dim = f[9], .vocab = f[10], .seq_len = f[11], .runtime_seq_len = f[12],
                       .rms_eps = as_float(f[13]), .rope_theta = as_float(f[14])};
    if (f[3] != 0 || f[15] != c.head_dim) /* gates, q/k norms, partial rotation: not SmolLM */
        die("invalid model config");
    return c;
}

static struct config load_config(void) {
    static uint field[CFG_V2_BYTES / sizeof(uint)];
    uint64 size;
    int fd = open_sized("CFG.BIN", &size);
    if (fd < 0)
        return smollm2_135m;
    if (size < CFG_V1_BYTES || size > CFG_V2_BYTES)
        die("bad CFG.BIN size (%lu)", size);
    read_all(fd, "CFG.BIN", field, size);
    if (field[0] != CFG_MAGIC)
        die("unsupported CFG.BIN header");
    if (field[1] != 1 && field[1] != 2)
        die("unsupported CFG.BIN version %u", field[1]);
    if (size != (field[1] == 1 ? CFG_V1_BYTES : CFG_V2_BYTES))
        die("bad CFG.BIN v%u size (%lu)", field[1], size);
    struct config config = field[1] == 1 ? config_v1(field) : config_v2(field);
    if (!is_valid(&config))
        die("invalid model config");
    return config;
}

/* The matrix that begins at *at; *at moves behind it. */
static struct matrix take_matrix(const uint8 **at, uint rows, uint cols) {
    const float *scale = (const float *)*at;
    const int8 *q = (const int8 *)(scale + rows);
    *at = (const uint8 *)q + (uint64)rows * cols;
    return (struct matrix){scale, q, rows, cols};
}

static const float *load_floats(const char *name, uint64 count) {
    uint64 found;
    const float *data = load(name, count * sizeof(float), &found);
    if (!data)
        die("bad %s size", name);
    return data;
}

static void load_embedding(struct model *m) {
    const struct config *c = &m->config;
    uint64 found;
    const uint8 *at = load("EMB.BIN", (uint64)c->vocab * (sizeof(float) + c->dim), &found);
    if (!at)
        die("embedding blob size mismatch");
    m->embedding = take_matrix(&at, c->vocab, c->dim);
}

/* Weights in the matrices of a layer. */
static uint64 layer_weights(const struct config *c) {
    return (2ul * query_dim(c) + 2ul * kv_dim(c) + 3ul * c->hidden) * c->dim;
}

/* Of a layer's file: the matrices, their scales, the two norms. */
static uint64 layer_bytes(const struct config *c) {
    uint64 rows = query_dim(c) + 2ul * kv_dim(c) + 2ul * c->hidden + 2ul * c->dim;
    return layer_weights(c) + (rows + 2ul * c->dim) * sizeof(float);
}

static void load_layer(struct model *m, uint index) {
    const struct config *c = &m->config;
    struct layer *l = &m->layer[index];
    char name[sizeof "L00.BIN"];
    uint64 found;

    snprintf(name, sizeof name, "L%02u.BIN", index);
    const uint8 *at = load(name, layer_bytes(c), &found);
    if (!at)
        die("full layer blob size mismatch (%lu vs %lu)", found, layer_bytes(c));
    l->input_norm = (const float *)at;
    l->post_norm = l->input_norm + c->dim;
    at += 2 * c->dim * sizeof(float);
    l->wq = take_matrix(&at, query_dim(c), c->dim);
    l->wk = take_matrix(&at, kv_dim(c), c->dim);
    l->wv = take_matrix(&at, kv_dim(c), c->dim);
    l->wo = take_matrix(&at, c->dim, query_dim(c));
    l->gate = take_matrix(&at, c->hidden, c->dim);
    l->up = take_matrix(&at, c->hidden, c->dim);
    l->down = take_matrix(&at, c->dim, c->hidden);
}

/* A u32 count and as many u32 ids, at most `room`, into ids. The count. */
static uint load_ids(const char *name, uint *ids, uint room) {
    uint64 size;
    uint count = 0;
    int fd = open_sized(name, &size);
    if (fd < 0)
        die("missing %s", name);
    if (size < sizeof count || read(fd, &count, sizeof count) != sizeof count || size != 4 + 4ul * count)
        die("bad u32 file %s", name);
    if (count > room)
        die("request exceeds runtime sequence length");
    read_all(fd, name, ids, count * sizeof *ids);
    return count;
}

/* Optional: a u32 count of layers, then each one's kind. Kind 0 is the attention that is below. */
static void check_layer_kinds(const struct config *c) {
    static uint kind[100];
    uint64 size;
    int fd = open_sized("LTY.BIN", &size);
    if (fd < 0)
        return;
    close(fd);
    if (load_ids("LTY.BIN", kind, LENGTH(kind)) != c->layers)
        die("bad u32 file LTY.BIN");
    for (uint i = 0; i < c->layers; i++)
        if (kind[i] != 0)
            die("invalid model config");
}

/* The weights, in the order of the lab's own program. */
static void load_weights(struct model *m) {
    const struct config *c = &m->config;
    check_layer_kinds(c);
    load_embedding(m);
    m->final_norm = load_floats("NRM.BIN", c->dim);
    m->layer = reserve(c->layers * sizeof *m->layer);
    for (uint i = 0; i < c->layers; i++)
        load_layer(m, i);
    m->rope = load_floats("ROP.BIN", (uint64)c->runtime_seq_len * c->head_dim);
}

/* What a forward pass writes to, but for the KV cache. It is touched here, so that the pages that the
 * decode adds are the cache's alone; so is the `padding` behind it, by which a measurement moves K. */
static void reserve_workspace(struct model *m, int kv_offset) {
    const struct config *c = &m->config;
    uint64 start = heap_end();
    m->x = reserve(c->dim * sizeof(float));
    m->normed = reserve(c->dim * sizeof(float));
    m->delta = reserve(c->dim * sizeof(float));
    m->query = reserve(query_dim(c) * sizeof(float));
    m->mixed = reserve(query_dim(c) * sizeof(float));
    m->score = reserve(c->runtime_seq_len * sizeof(float));
    m->gate = reserve(c->hidden * sizeof(float));
    m->up = reserve(c->hidden * sizeof(float));
    m->packed.word = reserve(widest(c) / 2 * sizeof(uint64));
    m->logits = reserve(c->vocab * sizeof(float));
    if (kv_offset >= 0)
        reserve(((uint64)kv_offset - heap_end()) % PGSIZE);
    memset((void *)start, 0, heap_end() - start);
}

/* =================================================================================================
 * Quantised matmul
 *
 * y[r] = scale[r] * sum over c of q[r][c] * x[c], with x rounded to integers a[c] of one scale. Two
 * 32-bit lanes share a multiplication. Eight columns of a row, as they lie in memory, are four words
 * U[k] = u[k] + 2^32 u[k+4], where u = q + 128 is in 0..255 (one xor flips the sign bits); eight
 * activations are four words A[k] = a[k+4] + 2^32 a[k]. Then
 *
 *     U[k] A[k]  =  u[k] a[k+4]  +  2^32 (u[k] a[k] + u[k+4] a[k+4])  +  2^64 u[k+4] a[k]
 *
 * and the sum of all of a row's products is L + 2^32 H modulo 2^64, H = sum u a = sum q a + 128 sum a.
 * The sum begins at 2^31 - 2^32 128 sum a, and so ends at (2^31 + L) + 2^32 sum q a. With n columns
 * and |a| <= M, where 128 n M < 2^31:
 *
 *     |L| <= 255 (n/2) M < 2^31, so 0 <= 2^31 + L < 2^32, and nothing is carried into the upper half;
 *     |sum q a| <= 128 n M < 2^31, so the upper half, read as a signed number, is it exactly.
 *
 * What happens on the way there does not matter: it is all modulo 2^64. M is 29,127 for 576 columns and
 * 10,922 for 1,536, some 15 and 14 bits: what this loses is far below what int8 has lost.
 * ================================================================================================= */

#define LANES 0x000000ff000000fful /* a byte in each lane */
#define SIGN_BITS 0x8080808080808080ul

/* The largest |a| for which the above holds. */
static uint activation_max(uint cols) {
    return 0x7fffffff / (128 * cols);
}

/* x [n] in integers, n a multiple of eight. */
static void pack(struct packed *to, const float *x, uint n) {
    uint peak = 0; /* of |x|; floats without sign are ordered as their bits are */
    for (uint i = 0; i < n; i++) {
        uint bits = as_bits(x[i]) & 0x7fffffff;
        peak = bits > peak ? bits : peak;
    }
    float largest = as_float(peak), max = (float)activation_max(n);
    float inverse = largest > 1e-30f ? max / largest : 0.0f;
    uint64 *word = to->word;
    long sum = 0;
    for (uint i = 0; i < n; i += 8)
        for (uint k = 0; k < 4; k++) {
            long low = to_nearest(x[i + k + 4] * inverse), high = to_nearest(x[i + k] * inverse);
            *word++ = (uint64)low + ((uint64)high << 32);
            sum += low + high;
        }
    to->sum = sum;
    to->scale = largest / max;
}

static inline uint64 multiply_add(uint64 sum, uint64 q, const uint64 a[4]) {
    uint64 u = q ^ SIGN_BITS;
    sum += (u & LANES) * a[0];
    sum += (u >> 8 & LANES) * a[1];
    sum += (u >> 16 & LANES) * a[2];
    sum += (u >> 24 & LANES) * a[3];
    __asm__ volatile("" : "+r"(sum)); /* no code: the row ends here, before the next one is loaded */
    return sum;
}

/* dot[i] = sum over c of q[i][c] a[c]. Eight rows at a time: a load costs as much as ten other instructions
 * in an emulator, and here 12 of them serve 64 products. For the same reason multiply_add() ends with a
 * barrier: compilers like to load early, and what waits in registers over a load is spilled and loaded. */
static inline void dot_eight(int dot[8], const int8 *q, uint cols, const struct packed *x) {
    const int8 *q0 = q, *q1 = q0 + cols, *q2 = q1 + cols, *q3 = q2 + cols;
    const int8 *q4 = q3 + cols, *q5 = q4 + cols, *q6 = q5 + cols, *q7 = q6 + cols;
    uint64 s0 = (1ul << 31) - ((uint64)(128 * x->sum) << 32);
    uint64 s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0, s6 = s0, s7 = s0;

    const uint64 *word = x->word;
    for (uint64 c = 0; c < cols; c += 8, word += 4) {
        const uint64 a[4] = {word[0], word[1], word[2], word[3]};
        s0 = multiply_add(s0, *(const eight *)(q0 + c), a);
        s1 = multiply_add(s1, *(const eight *)(q1 + c), a);
        s2 = multiply_add(s2, *(const eight *)(q2 + c), a);
        s3 = multiply_add(s3, *(const eight *)(q3 + c), a);
        s4 = multiply_add(s4, *(const eight *)(q4 + c), a);
        s5 = multiply_add(s5, *(const eight *)(q5 + c), a);
        s6 = multiply_add(s6, *(const eight *)(q6 + c), a);
        s7 = multiply_add(s7, *(const eight *)(q7 + c), a);
    }
    dot[0] = (int)(s0 >> 32), dot[1] = (int)(s1 >> 32), dot[2] = (int)(s2 >> 32), dot[3] = (int)(s3 >> 32);
    dot[4] = (int)(s4 >> 32), dot[5] = (int)(s5 >> 32), dot[6] = (int)(s6 >> 32), dot[7] = (int)(s7 >> 32);
}

/* out [rows] = w [rows][cols] times x [cols]. Page-aligned, so that its loop is within one page: jumps
 * out of a page are slow in emulators. */
__attribute__((noinline, aligned(PGSIZE))) static void matmul(float *out, const struct matrix *w,
                                                              const struct packed *x) {
    const int8 *q = w->q;
    uint rows = w->rows, cols = w->cols;
    float scale = x->scale;
    for (uint r = 0; r < rows; r += 8, q += 8ul * cols) {
        int dot[8];
        dot_eight(dot, q, cols, x);
        for (uint i = 0; i < 8; i++)
            out[r + i] = (float)dot[i] * (w->scale[r + i] * scale);
    }
}

/* =================================================================================================
 * Transformer blocks
 * ================================================================================================= */

static float square_root(float x) {
    float root;
#if defined(__riscv)
    __asm__("fsqrt.s %0, %1" : "=f"(root) : "f"(x));
#else
    root = __builtin_sqrtf(x);
#endif
    return root;
}

/* e^x as 2^y, y = x / ln 2 in fixed point with 24 bits of fraction: integers are cheap here. 2^(fraction of
 * y), with 32 bits after the point, is a polynomial of degree 6 with a relative error below 2^-28 on [0,1);
 * its leading 1 falls on the lowest bit of the exponent, hence 126. */
static float exponential(float x) {
    uint bits = as_bits(x);
    if ((bits & 0x7fffffff) > 0x42ae0000) /* |x| > 87 */
        return bits >> 31 ? 0.0f : 6.0760302e37f;
    long y = (long)(x * 24204406.0f);
    uint64 fraction = (uint64)(y & 0xffffff) << 8;
    uint64 sum = 932105;
    sum = (sum * fraction >> 32) + 5342805;
    sum = (sum * fraction >> 32) + 41570306;
    sum = (sum * fraction >> 32) + 238299139;
    sum = (sum * fraction >> 32) + 1031779290;
    sum = (sum * fraction >> 32) + 2977043627;
    sum = (sum * fraction >> 32) + 4294967304;
    return as_float((uint)((((y >> 24) + 126) << 23) + (long)((sum + 256) >> 9)));
}

/* out [dim] = x / sqrt(mean x^2 + eps) * weight */
static void rmsnorm(float *out, const float *x, const float *weight, const struct config *c) {
    float sum = 0.0f;
    for (uint i = 0; i < c->dim; i++)
        sum += x[i] * x[i];
    float inverse = 1.0f / square_root(sum / (float)c->dim + c->rms_eps);
    for (uint i = 0; i < c->dim; i++)
        out[i] = x[i] * inverse * weight[i];
}

/* RoPE at one position on [heads][head_dim]: pairs (i, i + head_dim/2) turn by the i-th angle. */
static void rotate(float *x, uint heads, uint head_dim, const float *angles) {
    uint half = head_dim / 2;
    const float *cos = angles, *sin = angles + half;
    for (uint h = 0; h < heads; h++, x += head_dim)
        for (uint i = 0; i < half; i++) {
            float a = x[i], b = x[i + half];
            x[i] = a * cos[i] - b * sin[i];
            x[i + half] = a * sin[i] + b * cos[i];
        }
}

static void softmax(float *x, uint n) {
    float max = x[0], sum = 0.0f;
    for (uint i = 1; i < n; i++)
        max = x[i] > max ? x[i] : max;
    for (uint i = 0; i < n; i++) {
        x[i] = exponential(x[i] - max);
        sum += x[i];
    }
    float inverse = 1.0f / sum;
    for (uint i = 0; i < n; i++)
        x[i] *= inverse;
}

/* query [head_dim] times key [head_dim]; eight products a round, for the loop costs something too. */
static float dot(const float *query, const float *key, uint head_dim) {
    float sum = 0.0f;
    for (uint64 i = 0; i < head_dim; i += 8)
        for (uint64 k = i; k < i + 8; k++)
            sum += query[k] * key[k];
    return sum;
}

/* mixed [8] = weight [P] times eight columns of the values; one row of them is `stride` floats long. */
static void mix_eight(float *mixed, const float *weight, const float *value, uint positions, uint64 stride) {
    float sum[8] = {0};
    for (const float *end = weight + positions; weight < end; weight++, value += stride)
        for (int k = 0; k < 8; k++)
            sum[k] += *weight * value[k];
    for (int k = 0; k < 8; k++)
        mixed[k] = sum[k];
}

/* mixed [head_dim] = the values of P positions, weighted by how well their keys fit the query. `key` and
 * `value` are this head's of position 0; those of the next position lie `stride` floats on. */
static void attend(float *mixed, const float *query, const float *key, const float *value, float *score,
                   uint positions, uint64 stride, uint head_dim) {
    float scale = 1.0f / square_root((float)head_dim);
    for (uint p = 0; p < positions; p++)
        score[p] = dot(query, key + p * stride, head_dim) * scale;
    softmax(score, positions);
    for (uint i = 0; i < head_dim; i += 8)
        mix_eight(mixed + i, score, value + i, positions, stride);
}

/* x += Wo attention(Wq normed, Wk normed, Wv normed); the new key and value go into the cache. */
static void attention_block(struct model *m, uint index, uint position) {
    const struct config *c = &m->config;
    const struct layer *l = &m->layer[index];
    const float *angles = m->rope + (uint64)position * c->head_dim;
    uint stride = kv_dim(c), sharing = c->heads / c->kv_heads;
    uint64 first = (uint64)index * c->runtime_seq_len * stride; /* position 0 of this layer */
    float *key = m->key + first, *value = m->value + first;     /* [P][kv_heads][head_dim] */

    rmsnorm(m->normed, m->x, l->input_norm, c);
    pack(&m->packed, m->normed, c->dim);
    matmul(m->query, &l->wq, &m->packed);
    matmul(key + (uint64)position * stride, &l->wk, &m->packed);
    matmul(value + (uint64)position * stride, &l->wv, &m->packed);
    rotate(m->query, c->heads, c->head_dim, angles);
    rotate(key + (uint64)position * stride, c->kv_heads, c->head_dim, angles);
    for (uint h = 0; h < c->heads; h++) {
        uint at = h * c->head_dim, shared = h / sharing * c->head_dim;
        attend(m->mixed + at, m->query + at, key + shared, value + shared, m->score, position + 1, stride,
               c->head_dim);
    }
    pack(&m->packed, m->mixed, query_dim(c));
    matmul(m->delta, &l->wo, &m->packed);
    for (uint i = 0; i < c->dim; i++)
        m->x[i] += m->delta[i];
}

/* x += down(silu(gate normed) * up normed) */
static void feed_forward_block(struct model *m, uint index) {
    const struct config *c = &m->config;
    const struct layer *l = &m->layer[index];

    rmsnorm(m->normed, m->x, l->post_norm, c);
    pack(&m->packed, m->normed, c->dim);
    matmul(m->gate, &l->gate, &m->packed);
    matmul(m->up, &l->up, &m->packed);
    for (uint i = 0; i < c->hidden; i++)
        m->gate[i] = m->gate[i] / (1.0f + exponential(-m->gate[i])) * m->up[i];
    pack(&m->packed, m->gate, c->hidden);
    matmul(m->delta, &l->down, &m->packed);
    for (uint i = 0; i < c->dim; i++)
        m->x[i] += m->delta[i];
}

/* =================================================================================================
 * Forward
 * ================================================================================================= */

/* Take `token` in at `position`. With `choose` the logits [vocab] of what follows it, else NULL. */
static const float *forward(struct model *m, uint token, uint position, int choose) {
    const struct config *c = &m->config;
    const int8 *row = m->embedding.q + (uint64)token * c->dim;
    for (uint i = 0; i < c->dim; i++)
        m->x[i] = (float)row[i] * m->embedding.scale[token];
    for (uint i = 0; i < c->layers; i++) {
        attention_block(m, i, position);
        feed_forward_block(m, i);
    }
    if (!choose)
        return NULL;
    rmsnorm(m->normed, m->x, m->final_norm, c);
    pack(&m->packed, m->normed, c->dim);
    matmul(m->logits, &m->embedding, &m->packed);
    return m->logits;
}

/* The index of the largest, the first of equal ones. */
static uint argmax(const float *x, uint n) {
    uint best = 0;
    for (uint i = 1; i < n; i++)
        if (x[i] > x[best])
            best = i;
    return best;
}

/* =================================================================================================
 * Tokenizer: byte-level BPE from TOK.BIN
 *
 * The names of control tokens are cut out of the text; what is left is cut into words by the classes
 * of its code points; in each word, while neighbours merge, the pair of the lowest rank does. Bytes
 * that are no UTF-8 are words' characters like any others, so that nothing is lost.
 * ================================================================================================= */

#define TOK_MAGIC 0x314b4f54 /* "TOK1" */
#define TOK_HEADER 8         /* u32: magic, version, vocab, merges, three counts of ranges, 0 */
#define NO_TOKEN 0xffffffff
#define CONTROL 1

struct merge {
    uint left, right, rank, merged;
};

struct ranges {
    const uint *bound; /* [count][2]: first and last code point, sorted */
    uint count;
};

struct tokenizer {
    uint vocab, merges;
    const uint *offset;                     /* [vocab + 1] into blob */
    const uint8 *kind;                      /* [vocab] */
    const uint *byte_token;                 /* [256] */
    const struct merge *merge;              /* [merges] by (left, right) */
    struct ranges letters, numbers, spaces;
    const uint8 *blob;                      /* the bytes of all tokens */
};

static struct ranges take_ranges(const uint **at, uint count) {
    struct ranges ranges = {*at, count};
    *at += 2 * count;
    return ranges;
}

/* Where the file's parts lie; 0 when they do not make up `size` bytes. */
static int lay_out_tokenizer(struct tokenizer *t, const uint *header, uint64 size) {
    uint64 vocab = header[2], merges = header[3], ranges = (uint64)header[4] + header[5] + header[6];
    uint64 kinds = (vocab + 3) / 4; /* padded to whole u32 */
    uint64 words = TOK_HEADER + vocab + 1 + kinds + 256 + 4 * merges + 2 * ranges;
    if (words * sizeof(uint) > size)
        return 0;
    t->vocab = header[2];
    t->merges = header[3];
    t->offset = header + TOK_HEADER;
    t->kind = (const uint8 *)(t->offset + vocab + 1);
    t->byte_token = t->offset + vocab + 1 + kinds;
    t->merge = (const struct merge *)(t->byte_token + 256);
    const uint *at = (const uint *)(t->merge + merges);
    t->letters = take_ranges(&at, header[4]);
    t->numbers = take_ranges(&at, header[5]);
    t->spaces = take_ranges(&at, header[6]);
    t->blob = (const uint8 *)at;
    return words * sizeof(uint) + t->offset[vocab] == size;
}

/* Map TOK.BIN, so that it takes nothing of the heap, and read one byte of each page, so that a decode
 * that shows text adds no pages of the file to those that are counted. */
static void map_tokenizer(struct tokenizer *t, uint vocab) {
    uint64 size;
    int fd = open_sized("TOK.BIN", &size);
    if (fd < 0)
        die("missing TOK.BIN");
    const uint8 *file = size ? mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    if (file == MAP_FAILED)
        die("failed to read TOK.BIN");
    close(fd);
    for (uint64 at = 0; at < size; at += PGSIZE)
        *(const volatile uint8 *)(file + at);
    const uint *header = (const uint *)file;
    if (size < TOK_HEADER * sizeof(uint) || header[0] != TOK_MAGIC || header[1] != 1)
        die("unsupported TOK.BIN header");
    if (!lay_out_tokenizer(t, header, size) || t->vocab != vocab)
        die("size mismatch in TOK.BIN");
}

static int contains(const struct ranges *ranges, uint point) {
    uint low = 0, high = ranges->count;
    while (low < high) {
        uint middle = (low + high) / 2;
        if (point > ranges->bound[2 * middle + 1])
            low = middle + 1;
        else
            high = middle;
    }
    return low < ranges->count && point >= ranges->bound[2 * low];
}

/* The length of the UTF-8 sequence at p, and its code point; 1 and U+FFFD for a byte that begins none. */
static int code_point(const uint8 *p, const uint8 *end, uint *point) {
    static const uint smallest[5] = {0, 0, 0x80, 0x800, 0x10000};
    int length = *p < 0x80 ? 1 : *p >= 0xf0 && *p < 0xf8 ? 4 : *p >= 0xe0 ? 3 : *p >= 0xc0 ? 2 : 0;
    uint value = length == 1 ? *p : *p & (0x7f >> length);
    int valid = length > 0 && *p < 0xf8 && end - p >= length;
    for (int i = 1; valid && i < length; i++) {
        valid = (p[i] & 0xc0) == 0x80;
        value = value << 6 | (p[i] & 0x3f);
    }
    if (!valid || value < smallest[length] || value > 0x10ffff || (value >= 0xd800 && value < 0xe000)) {
        *point = 0xfffd;
        return 1;
    }
    *point = value;
    return length;
}

enum class { LETTER, NUMBER, SPACE, OTHER };

/* The class of the character at p, and its length. */
static enum class class_at(const struct tokenizer *t, const uint8 *p, const uint8 *end, int *length) {
    uint point;
    *length = code_point(p, end, &point);
    if (contains(&t->letters, point))
        return LETTER;
    if (contains(&t->numbers, point))
        return NUMBER;
    return contains(&t->spaces, point) ? SPACE : OTHER;
}

/* The length of an English contraction at p, or 0. */
static int contraction(const uint8 *p, const uint8 *end) {
    static const char *const known[] = {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"};
    for (int i = 0; i < LENGTH(known); i++) {
        int length = strlen(known[i]);
        if (end - p >= length && memcmp(p, known[i], (uint64)length) == 0)
            return length;
    }
    return 0;
}

/* The end of the run of `class` that begins at p; *last is where its last character begins. */
static const uint8 *run_end(const struct tokenizer *t, enum class class, const uint8 *p, const uint8 *end,
                            const uint8 **last) {
    int length;
    while (p < end && class_at(t, p, end, &length) == class) {
        *last = p;
        p += length;
    }
    return p;
}

/* The end of the word that begins at p. Each digit is a word, and ends the one before; else as GPT-2:
 * a contraction, or a blank or none and a run of letters or of others, or a run of spaces, less the
 * last one where a word follows that may take it. */
static const uint8 *word_end(const struct tokenizer *t, const uint8 *p, const uint8 *end) {
    const uint8 *last = p;
    int length, unused;
    enum class class = class_at(t, p, end, &length);
    if (class == NUMBER)
        return p + length;
    if ((length = contraction(p, end)) > 0)
        return p + length;
    const uint8 *first = p + (*p == ' ');
    enum class first_class = first < end ? class_at(t, first, end, &unused) : SPACE;
    if (first_class == LETTER || first_class == OTHER)
        return run_end(t, first_class, first, end, &last);
    const uint8 *after = run_end(t, SPACE, p, end, &last);
    if (last > p && after < end && class_at(t, after, end, &unused) != NUMBER)
        return last;
    return after;
}

static const struct merge *find_merge(const struct tokenizer *t, uint left, uint right) {
    uint low = 0, high = t->merges;
    while (low < high) {
        uint middle = (low + high) / 2;
        const struct merge *m = &t->merge[middle];
        if (m->left < left || (m->left == left && m->right < right))
            low = middle + 1;
        else
            high = middle;
    }
    const struct merge *m = &t->merge[low];
    return low < t->merges && m->left == left && m->right == right ? m : NULL;
}

/* Ids on their way out. More than there is room for end the program. */
struct ids {
    uint *id;
    uint count, room;
};

static void append(struct ids *ids, uint id) {
    if (ids->count == ids->room)
        die("request exceeds runtime sequence length");
    ids->id[ids->count++] = id;
}

/* Append the tokens of the word p..end: its bytes' tokens, merged as long as some pair merges. */
static void encode_word(const struct tokenizer *t, const uint8 *p, const uint8 *end, struct ids *out) {
    static uint id[PGSIZE]; /* all arguments together fit one page; a file may not */
    uint n = 0;
    for (; p < end; p++)
        if (t->byte_token[*p] != NO_TOKEN) {
            if (n == LENGTH(id))
                die("a word of the prompt is longer than %d bytes", LENGTH(id));
            id[n++] = t->byte_token[*p];
        }
    for (;;) {
        const struct merge *best = NULL;
        uint at = 0;
        for (uint i = 0; i + 1 < n; i++) {
            const struct merge *m = find_merge(t, id[i], id[i + 1]);
            if (m && (!best || m->rank < best->rank))
                best = m, at = i;
        }
        if (!best)
            break;
        id[at] = best->merged;
        memmove(&id[at + 1], &id[at + 2], (n - at - 2) * sizeof *id);
        n--;
    }
    for (uint i = 0; i < n; i++)
        append(out, id[i]);
}

/* The control token whose name is at p, the longest if there are several; NO_TOKEN if none is. */
static uint control_at(const struct tokenizer *t, const uint8 *p, const uint8 *end) {
    uint found = NO_TOKEN;
    uint64 longest = 0;
    for (uint i = 0; i < t->vocab; i++) {
        if (t->kind[i] != CONTROL)
            continue;
        uint64 length = t->offset[i + 1] - t->offset[i];
        if (length > longest && length <= (uint64)(end - p) && memcmp(p, t->blob + t->offset[i], length) == 0)
            found = i, longest = length;
    }
    return found;
}

static void encode(const struct tokenizer *t, const char *text, struct ids *out) {
    const uint8 *p = (const uint8 *)text, *end = p + strlen(text);
    while (p < end) {
        const uint8 *stop = p;
        uint control = NO_TOKEN;
        while (stop < end && (control = control_at(t, stop, end)) == NO_TOKEN)
            stop++;
        for (const uint8 *word = p; word < stop; word = p) {
            p = word_end(t, word, stop);
            encode_word(t, word, p, out);
        }
        if (control != NO_TOKEN) {
            append(out, control);
            p += t->offset[control + 1] - t->offset[control];
        }
    }
}

/* Write what a token spells; a control token spells nothing. */
static void show_token(const struct tokenizer *t, uint token) {
    static char text[256]; /* write() cannot be relied upon to take bytes from a mapped file */
    if (token >= t->vocab || t->kind[token] == CONTROL)
        return;
    for (uint at = t->offset[token], n; at < t->offset[token + 1]; at += n) {
        n = t->offset[token + 1] - at;
        n = n < sizeof text ? n : sizeof text;
        memcpy(text, t->blob + at, n);
        write(1, text, (int)n);
    }
}

/* =================================================================================================
 * Options
 * ================================================================================================= */

#define DEFAULT_GEN_LEN 16 /* for --prompt alone */

struct options {
    const char *prompt_tokens, *prompt, *gen_len, *dump_logits, *kv_offset; /* NULL: not given */
    int show_text, help;
};

static const char help_text[] =
    "usage: %s [OPTION]...\n"
    "Decode a few tokens with SmolLM2, and show how much of its KV cache is mapped.\n"
    "\n"
    "  --prompt-tokens A,B,C  the prompt as token ids; together with --gen-len\n"
    "  --prompt TEXT          the prompt as text, instead\n"
    "  --gen-len N            how many tokens to generate (%d after --prompt)\n"
    "  --show-text            write the generated text as it comes\n"
    "  --help                 write this and exit\n"
    "Without a prompt, PMT.BIN is decoded for as many tokens as EXP.BIN has.\n"
    "\n"
    "For measurements:\n"
    "  --kv-offset BYTES      where in its page the KV cache starts (0..4080, by 16)\n"
    "  --dump-logits FILE     write each generated token's logits, float32 [vocab]\n";

/* An option with a value, or a flag. */
struct option {
    const char *name;
    const char **value; /* NULL in there: not given */
    int *flag;
};

static void parse_words(int argc, char **argv, const struct option *known, int count) {
    for (int i = 1; i < argc; i++) {
        const struct option *o = known;
        while (o < known + count && strcmp(argv[i], o->name) != 0)
            o++;
        if (o == known + count)
            die("unknown arg %s", argv[i]);
        if (o->flag)
            *o->flag = 1;
        else if (*o->value || i + 1 == argc)
            die("bad %s usage", argv[i]);
        else
            *o->value = argv[++i];
    }
}

static struct options parse_options(int argc, char **argv) {
    struct options o = {0};
    const struct option known[] = {
        {"--prompt-tokens", &o.prompt_tokens, NULL},
        {"--prompt", &o.prompt, NULL},
        {"--gen-len", &o.gen_len, NULL},
        {"--dump-logits", &o.dump_logits, NULL},
        {"--kv-offset", &o.kv_offset, NULL},
        {"--show-text", NULL, &o.show_text},
        {"--help", NULL, &o.help},
    };
    parse_words(argc, argv, known, LENGTH(known));
    if (o.prompt && o.prompt_tokens)
        die("--prompt and --prompt-tokens exclude each other");
    if (!o.prompt && !o.prompt_tokens != !o.gen_len)
        die("custom decode requires both --prompt-tokens and --gen-len");
    return o;
}

static uint parse_gen_len(const char *text) {
    uint64 value = 0;
    if (!parse_uint(text, 0x7fffffff, &value) || value == 0)
        die("bad --gen-len value");
    return (uint)value;
}

/* -1 when it is not given. */
static int parse_kv_offset(const char *text) {
    uint64 value = 0;
    if (!text)
        return -1;
    if (!parse_uint(text, PGSIZE - 1, &value) || value % 16 != 0)
        die("bad --kv-offset value");
    return (int)value;
}

/* One id of a list that commas part: *value, and what follows it; NULL when it is not one. */
static const char *parse_id(const char *p, uint *value) {
    uint64 sum = 0;
    if (*p < '0' || *p > '9')
        return NULL;
    for (; *p >= '0' && *p <= '9'; p++)
        if ((sum = sum * 10 + (uint64)(*p - '0')) > 0xffffffff)
            return NULL;
    *value = (uint)sum;
    return p;
}

static int is_id_list(const char *p) {
    uint unused;
    while ((p = parse_id(p, &unused)) && *p == ',')
        p++;
    return p && !*p;
}

static void parse_ids(const char *p, struct ids *out) {
    uint id = 0;
    for (; (p = parse_id(p, &id)); p++) {
        append(out, id);
        if (*p != ',')
            return;
    }
}

/* =================================================================================================
 * Probe
 * ================================================================================================= */

struct request {
    uint prompt, generate; /* tokens */
};

/* Positions that the decode goes through: the last token that is generated is not taken in. */
static uint steps(const struct request *r) {
    return r->prompt + r->generate - 1;
}

static void check_ids(const char *what, const uint *id, uint count, uint vocab) {
    for (uint i = 0; i < count; i++)
        if (id[i] >= vocab)
            die("%s token %u out of range: %u", what, i, id[i]);
}

/* The prompt into m->seq, from the options or the image's own files. */
static struct request make_request(struct model *m, const struct options *o, const struct tokenizer *t) {
    struct ids ids = {m->seq, 0, m->config.runtime_seq_len};
    struct request r = {0, o->gen_len ? parse_gen_len(o->gen_len) : DEFAULT_GEN_LEN};
    if (o->prompt)
        encode(t, o->prompt, &ids);
    else if (o->prompt_tokens)
        parse_ids(o->prompt_tokens, &ids);
    else
        ids.count = load_ids("PMT.BIN", ids.id, ids.room);
    r.prompt = ids.count;
    check_ids("prompt", ids.id, r.prompt, m->config.vocab);
    if (!o->prompt && !o->prompt_tokens) {
        r.generate = load_ids("EXP.BIN", ids.id + r.prompt, ids.room - r.prompt);
        check_ids("expect", ids.id + r.prompt, r.generate, m->config.vocab);
    }
    if (r.prompt == 0 || r.generate == 0)
        die("invalid request shape");
    if ((uint64)r.prompt + r.generate > m->config.runtime_seq_len)
        die("request exceeds runtime sequence length");
    return r;
}

static void write_all(int fd, const void *data, uint64 size) {
    const uint8 *at = data;
    for (uint64 done = 0; done < size;) {
        int n = write(fd, at + done, size - done < 1 << 16 ? (int)(size - done) : 1 << 16);
        if (n <= 0)
            die("failed to write");
        done += (uint64)n;
    }
}

/* Greedy decode. `shown` is NULL or tells what tokens spell; `dump` is -1 or a file for the logits. */
static void decode(struct model *m, const struct request *r, const struct tokenizer *shown, int dump) {
    for (uint p = 0; p < steps(r); p++) {
        const float *logits = forward(m, m->seq[p], p, p + 1 >= r->prompt);
        if (!logits)
            continue;
        m->seq[p + 1] = argmax(logits, m->config.vocab);
        if (dump >= 0)
            write_all(dump, logits, m->config.vocab * sizeof *logits);
        if (shown)
            show_token(shown, m->seq[p + 1]);
    }
    if (shown)
        printf("\n");
}

/* The memory of this process, and of the machine, before and after the reservation and at the end. */
struct readings {
    struct memstat before, reserved, decoded;
};

static uint64 pages(uint64 bytes) {
    return (bytes + PGSIZE - 1) / PGSIZE;
}

static void read_memory(struct memstat *now) {
    if (memstat(now) < 0)
        die("memstat failed");
}

/* What the decode must touch if every layer's array began on a page. */
static uint64 active_pages(const struct config *c, const struct request *r) {
    return 2ul * c->layers * pages((uint64)steps(r) * kv_dim(c) * sizeof(float));
}

/* The new reservation is not touched: whether it costs anything is the question. */
static void reserve_kv(struct model *m) {
    m->key = reserve(kv_bytes(&m->config));
    m->value = reserve(kv_bytes(&m->config));
}

static void report(const struct readings *r, int max, uint64 active) {
    int reserved = r->reserved.proc_mapped_pages - r->before.proc_mapped_pages;
    int decoded = r->decoded.proc_mapped_pages - r->reserved.proc_mapped_pages;
    int mapped = reserved + decoded, saved = max - mapped;

    say("SUMMARY max_kv_pages=%d actual_mapped_pages=%d saved_pages=%d saved_percent=%d%%", max, mapped, saved,
        saved * 100 / max);
    say("reserve_phase virtual_pages=%d mapped_pages=%d used_pages=%d",
        r->reserved.proc_sz_pages - r->before.proc_sz_pages, reserved,
        r->reserved.used_pages - r->before.used_pages);
    say("decode_phase mapped_pages=%d used_pages=%d active_pages_est=%lu", decoded,
        r->decoded.used_pages - r->reserved.used_pages, active);
    if (reserved >= max / 2)
        say("verdict=EAGER_STYLE reserve mapped most KV pages immediately");
    else
        say("verdict=LAZY_STYLE reserve kept KV pages unmapped; decode allocated on demand");
}

static void probe(struct model *m, const struct request *r, const struct tokenizer *shown, int dump) {
    uint64 max = pages(2 * kv_bytes(&m->config)), active = active_pages(&m->config, r);
    struct readings readings;

    read_memory(&readings.before);
    reserve_kv(m);
    read_memory(&readings.reserved);
    say("kv_capacity max_pages=%lu active_pages_est=%lu", max, active);
    say("running decode...");
    decode(m, r, shown, dump);
    read_memory(&readings.decoded);
    report(&readings, (int)max, active);
}

/* The generated ids into /AI.<pid>.OUT, where the kernel's AI service would look for them. */
static void write_result(const uint *id, uint count) {
    char name[MAXPATH];
    snprintf(name, sizeof name, "/AI.%d.OUT", getpid());
    int fd = open(name, O_CREATE | O_TRUNC | O_WRONLY);
    if (fd < 0)
        return; /* nobody needs it where there is no service */
    for (uint i = 0; i < count; i++)
        fprintf(fd, i ? " %u" : "%u", id[i]);
    fprintf(fd, "\n");
    close(fd);
}

/* =================================================================================================
 * Main
 * ================================================================================================= */

static const char *last_part(const char *path) {
    const char *name = path;
    for (; *path; path++)
        if (*path == '/')
            name = path + 1;
    return name;
}

/* A file for the logits, or -1 when none is wanted. */
static int create(const char *name) {
    int fd = name ? open(name, O_CREATE | O_TRUNC | O_WRONLY) : -1;
    if (name && fd < 0)
        die("cannot create %s", name);
    return fd;
}

#ifndef SMOLPROBE_NO_MAIN
/* Everything that a user can get wrong is found out before the weights, which take a while, are read. */
int main(int argc, char **argv) {
    static struct model m;
    static struct tokenizer tokenizer;

    if (argc > 0)
        program = last_part(argv[0]);
    struct options o = parse_options(argc, argv);
    if (o.help) {
        printf(help_text, program, DEFAULT_GEN_LEN);
        return 0;
    }
    if (o.prompt_tokens && !is_id_list(o.prompt_tokens))
        die("bad --prompt-tokens payload");
    int kv_offset = parse_kv_offset(o.kv_offset);
    m.config = load_config();
    m.seq = reserve(m.config.runtime_seq_len * sizeof *m.seq);
    if (o.prompt || o.show_text)
        map_tokenizer(&tokenizer, m.config.vocab);
    struct request request = make_request(&m, &o, &tokenizer);
    int dump = create(o.dump_logits);

    say("loading LLM assets...");
    load_weights(&m);
    say("request prompt_tokens=%u gen_tokens=%u", request.prompt, request.generate);
    reserve_workspace(&m, kv_offset);
    probe(&m, &request, o.show_text ? &tokenizer : NULL, dump);
    write_result(m.seq + request.prompt, request.generate);
    return 0;
}
#endif
