/* Several continuations of one prompt, each in a process of its own: what smolsample and smolbeam share.
 *
 * fork() hands a process all that the model has taken in so far; with copy-on-write it costs next to
 * nothing. What will be written to stands on pages of its own for that, behind what never is again:
 *
 *     ids  weights | workspace | o  K  V |         | begins a page
 *
 * where o is the offset of K in its first page, 0 unless --kv-offset says otherwise. So no page of weights
 * is ever copied, and a page of the cache is copied only because a key or a value was written into it. */

#define SMOLPROBE_NO_MAIN
#pragma GCC diagnostic ignored "-Wunused-function"
#include "smolprobe.c"

/* =================================================================================================
 * The cache, in pages
 * ================================================================================================= */

struct cache {
    uint64 start;  /* its first page */
    uint offset;   /* of K in there */
    uint arrays;   /* a K and a V for each layer */
    uint64 array_bytes, position_bytes;
};

static void align_heap(void) {
    reserve((0 - heap_end()) % PGSIZE);
}

/* K and V, on pages that hold nothing else. */
static struct cache reserve_cache(struct model *m, int kv_offset) {
    const struct config *c = &m->config;
    uint offset = kv_offset < 0 ? 0 : (uint)kv_offset;
    align_heap();
    struct cache cache = {.start = heap_end(), .offset = offset, .arrays = 2 * c->layers};
    cache.array_bytes = kv_bytes(c) / c->layers;
    cache.position_bytes = kv_dim(c) * sizeof(float);
    reserve(offset);
    reserve_kv(m);
    return cache;
}

static uint64 cache_pages(const struct cache *c) {
    return pages(c->offset + c->arrays * c->array_bytes);
}

/* Does this page of the cache hold a byte of positions from..to-1, of any layer's K or V? */
static int holds(const struct cache *c, uint64 page, uint from, uint to) {
    uint64 begin = page * PGSIZE, end = begin + PGSIZE, array = c->offset;
    for (uint i = 0; i < c->arrays && array < end && from < to; i++, array += c->array_bytes)
        if (array + from * c->position_bytes < end && array + to * c->position_bytes > begin)
            return 1;
    return 0;
}

/* What becomes of the cache's pages when a process that shares positions 0..shared-1 with others writes the
 * ones up to end-1. Where sbrk() maps at once, every page is there before. */
struct page_counts {
    int shared;  /* are there before */
    int written; /* of these it writes to */
    int fresh;   /* it adds */
};

static struct page_counts count_pages(const struct cache *c, uint shared, uint end, int all_mapped) {
    struct page_counts n = {0, 0, 0};
    for (uint64 page = 0; page < cache_pages(c); page++) {
        int is_there = all_mapped || holds(c, page, 0, shared), is_written = holds(c, page, shared, end);
        n.shared += is_there;
        n.written += is_there && is_written;
        n.fresh += !is_there && is_written;
    }
    return n;
}

/* Write to each page of start..end-1, and change nothing: what other processes share becomes our own. */
static void make_own(uint64 start, uint64 end) {
    for (uint64 at = start; at < end; at = (at | (PGSIZE - 1)) + 1)
        *(volatile uint8 *)at = *(volatile uint8 *)at;
}

/* Give back the heap from `start` on: one owner less for each of its pages. */
static void let_go(uint64 start) {
    for (uint64 rest; (rest = heap_end() - start) > 0;)
        if (sbrk(-(int)(rest < 1 << 30 ? rest : 1 << 30)) == (void *)-1)
            die("sbrk failed to give back %lu bytes", rest);
}

/* Did forks that took `used` frames copy what they might have shared? The weights alone are more than what a
 * fork takes anyway: page tables, stack and workspace. */
static int copied_at_once(int forks, int used, uint64 weight_pages) {
    return used >= forks * (int)weight_pages;
}

/* =================================================================================================
 * The prompt
 * ================================================================================================= */

/* Without --prompt, --prompt-file and --prompt-tokens. */
static const char default_prompt[] =
    "An operating system gives every program the illusion that it has the whole memory to itself. When a "
    "program forks, the kernel";

/* A prompt that is longer than an argument can be. */
static const char *read_prompt(const char *name) {
    uint64 size;
    int fd = open_sized(name, &size);
    if (fd < 0)
        die("missing %s", name);
    char *text = reserve(size + 1);
    read_all(fd, name, text, size);
    text[size] = '\0';
    return text;
}

static void check_prompt(struct options *o, const char *file) {
    if (!!o->prompt + !!o->prompt_tokens + !!file > 1)
        die("--prompt, --prompt-file and --prompt-tokens exclude each other");
    if (o->prompt_tokens && !is_id_list(o->prompt_tokens))
        die("bad --prompt-tokens payload");
    if (file)
        o->prompt = read_prompt(file);
    else if (!o->prompt && !o->prompt_tokens)
        o->prompt = default_prompt;
}

/* fork() copies mapped files at once, shared or not: the tokenizer is here only while it is needed. */
static void unmap_tokenizer(struct tokenizer *t) {
    const uint8 *file = (const uint8 *)(t->offset - TOK_HEADER);
    munmap((void *)file, (uint64)(t->blob + t->offset[t->vocab] - file));
}

/* The prompt as token ids, in m->seq. Everything that a user can get wrong is found out here. */
static struct request take_request(struct model *m, const struct options *o) {
    static struct tokenizer t;
    m->config = load_config();
    m->seq = reserve(m->config.runtime_seq_len * sizeof *m->seq);
    if (!o->prompt && !o->show_text)
        return make_request(m, o, NULL);
    map_tokenizer(&t, m->config.vocab);
    struct request request = make_request(m, o, &t);
    unmap_tokenizer(&t);
    return request;
}

/* Take the prompt in. The logits [vocab] of what follows it. */
static const float *prefill(struct model *m, uint prompt) {
    for (uint p = 0; p + 1 < prompt; p++)
        forward(m, m->seq[p], p, 0);
    return forward(m, m->seq[prompt - 1], prompt - 1, 1);
}

static void show_ids(const uint *id, uint count) {
    for (uint i = 0; i < count; i++)
        printf(i ? ",%u" : "%u", id[i]);
    printf("\n");
}

static void show_text(const struct tokenizer *t, const uint *id, uint count) {
    for (uint i = 0; i < count; i++)
        show_token(t, id[i]);
    printf("\n");
}

/* =================================================================================================
 * The likeliest tokens
 * ================================================================================================= */

struct candidate {
    uint token;
    float logit;
};

/* Of equal logits the first wins, as in argmax(). */
static int is_worse(const struct candidate *a, const struct candidate *b) {
    return a->logit < b->logit || (a->logit == b->logit && a->token > b->token);
}

/* heap [n] has its worst on top, but for what stands at `at`, which may have to sink. */
static void sift_down(struct candidate *heap, uint n, uint at) {
    struct candidate sinking = heap[at];
    for (uint child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && is_worse(&heap[child + 1], &heap[child]))
            child++;
        if (!is_worse(&heap[child], &sinking))
            break;
        heap[at] = heap[child];
    }
    heap[at] = sinking;
}

/* best [k], from the best down, of logits [vocab]: heapsort that keeps only k. */
static void find_best(struct candidate *best, uint k, const float *logits, uint vocab) {
    for (uint token = 0; token < k; token++)
        best[token] = (struct candidate){token, logits[token]};
    for (uint at = k / 2; at-- > 0;)
        sift_down(best, k, at);
    for (uint token = k; token < vocab; token++)
        if (logits[token] > best[0].logit) {
            best[0] = (struct candidate){token, logits[token]};
            sift_down(best, k, 0);
        }
    for (uint n = k; n-- > 1;) {
        struct candidate worst = best[0];
        best[0] = best[n];
        best[n] = worst;
        sift_down(best, n, 0);
    }
}

/* =================================================================================================
 * Pipes and options
 * ================================================================================================= */

static void make_pipe(int ends[2]) {
    if (pipe(ends) < 0)
        die("pipe failed");
}

/* All of `size` bytes; 0 when nobody is left who could write them. */
static int receive(int fd, void *to, uint64 size) {
    uint8 *at = to;
    for (int n; size > 0; at += n, size -= (uint64)n)
        if ((n = read(fd, at, (int)size)) <= 0)
            return 0;
    return 1;
}

/* Whoever wanted it may be gone; then there is nothing left to do. */
static void send(int fd, const void *data, uint64 size) {
    if (write(fd, data, (int)size) != (int)size)
        exit(1);
}

/* What both programs take, in a struct settings `s`. */
#define SHARED_OPTIONS(s)                                 \
    {"--prompt", &(s).decode.prompt, NULL},               \
    {"--prompt-file", &(s).prompt_file, NULL},            \
    {"--prompt-tokens", &(s).decode.prompt_tokens, NULL}, \
    {"--gen-len", &(s).decode.gen_len, NULL},             \
    {"--kv-offset", &(s).decode.kv_offset, NULL},         \
    {"--show-text", NULL, &(s).decode.show_text},         \
    {"--help", NULL, &(s).decode.help}

#define PROMPT_HELP                                               \
    "  --prompt TEXT          the prompt (there is one to try)\n" \
    "  --prompt-file FILE     the prompt from a file, instead\n"  \
    "  --prompt-tokens A,B,C  the prompt as token ids, instead\n"

#define MEASUREMENT_HELP  \
    "\n"                  \
    "For measurements:\n" \
    "  --kv-offset BYTES      where in its page the KV cache starts (0..4080, by 16)\n"

/* A number of smallest..largest; `otherwise` when it is not given. */
static uint64 parse_number(const char *name, const char *text, uint64 smallest, uint64 largest,
                           uint64 otherwise) {
    uint64 value = otherwise;
    if (text && (!parse_uint(text, largest, &value) || value < smallest))
        die("bad %s value", name);
    return value;
}
