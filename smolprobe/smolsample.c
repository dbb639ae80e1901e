/* smolsample: several answers to one prompt, and what they share.
 *
 * It takes the prompt in once and forks once for each sample. A fork is a sample's own copy of the KV cache,
 * of which no page is copied: parent and children share them all, read-only, until one of them writes.
 * Keys and values of the prompt are read over and over and written by nobody; what a sample writes are those
 * of its own tokens, behind them.
 *
 * How many pages are copied. K and V are 2 x layers arrays (60 for SmolLM2-135M), each f32 [seq][kv_heads]
 * [head_dim], 48 pages of which begin o bytes into a page. In each of them the prompt's P tokens end at
 *
 *     e = o + 768 P
 *
 * and the first token that a sample takes in is written there. When e is a multiple of 4096 that is a new
 * page. Otherwise it is one that the prompt has partly filled and that everybody shares: whoever writes
 * to it copies it first, except that the last one who holds it finds itself alone and writes in place.
 *
 *     copied pages = 60 * (e % 4096 > 0) * (samples - 1)     the parent lets go of the cache after forking
 *                    60 * (e % 4096 > 0) * samples           it holds on (--keep), as who serves more would
 *     new pages    = 60 * (ceil((e + 768 (G - 1)) / 4096) - ceil(e / 4096)) * samples
 *
 * for G > 1 tokens a sample, of which the last is not taken in, as long as they end within the 48 pages. (If
 * not, an array reaches into the page in which the next begins; count_pages() knows about that.) A full
 * copy would take all pages of the prompt, 60 * ceil(e / 4096) with o < 4096, once for each sample.
 *
 * Besides, each sample copies what any process writes to: stack, data, and the workspace of the forward
 * pass, though every byte there is about to be overwritten; a kernel cannot know that. These are counted
 * apart: a sample first makes them its own, and only then decodes.
 *
 * One at a time. The machine has one hart, and slows down when two processes could use it: it must count
 * instructions then, to be fair. So the samples stand in a chain of pipes. Each waits for a byte from the
 * one before it, decodes, reports, passes the byte on and ends; a sample that dies passes nothing on, and
 * those behind it see the end of their pipe and give up. The parent sleeps until a report comes. An ended
 * child keeps its memory until its parent waits for it, so that in the end all samples are there at once. */

#include "branches.h"

/* =================================================================================================
 * Sampling
 * ================================================================================================= */

/* SplitMix64 (Steele, Lea and Flood 2014), in which any state is as good as any other. A generator that the
 * user seeds deals each sample the state of its own, so that a sample is the same whoever else is there. */
static uint64 next_random(uint64 *state) {
    uint64 z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

/* In [0, 1), with the 24 bits that a float holds. */
static float uniform(uint64 *state) {
    return (float)(next_random(state) >> 40) / 16777216.0f;
}

struct sampler {
    float temperature; /* 0: the likeliest token */
    float top_p;
    uint top_k;
    struct candidate *best; /* [top_k] */
};

/* The logits of best [n] become probabilities but for a factor; how many of them it takes for top_p of
 * their sum, and the sum of these. */
static uint cut_tail(struct candidate *best, uint n, const struct sampler *s, float *sum) {
    float largest = best[0].logit, total = 0.0f;
    for (uint i = 0; i < n; i++) {
        best[i].logit = exponential((best[i].logit - largest) / s->temperature);
        total += best[i].logit;
    }
    uint kept = 0;
    *sum = 0.0f;
    do
        *sum += best[kept++].logit;
    while (kept < n && *sum < s->top_p * total);
    return kept;
}

/* A token: of the top_k likeliest, at this temperature, the likeliest ones that together make up top_p of
 * the probability; one of these, as likely as it is among them. */
static uint choose(const struct sampler *s, const float *logits, uint vocab, uint64 *random) {
    if (s->temperature == 0.0f)
        return argmax(logits, vocab);
    find_best(s->best, s->top_k, logits, vocab);
    float sum, point;
    uint kept = cut_tail(s->best, s->top_k, s, &sum), i = 0;
    for (point = uniform(random) * sum; i + 1 < kept && point >= s->best[i].logit; i++)
        point -= s->best[i].logit;
    return s->best[i].token;
}

/* =================================================================================================
 * Options
 * ================================================================================================= */

#define DEFAULT_SAMPLES 4
#define DEFAULT_GEN "32"

struct settings {
    struct options decode;
    const char *prompt_file, *samples, *temperature, *top_k, *top_p, *seed; /* NULL: not given */
    int keep;
};

static const char sample_help[] =
    "usage: %s [OPTION]...\n"
    "Decode several samples of one prompt with SmolLM2, each in a process of its own,\n"
    "and show which pages of the KV cache they share.\n"
    "\n"
    PROMPT_HELP
    "  --samples N            how many (4)\n"
    "  --gen-len N            how many tokens each (32)\n"
    "  --temperature T        0: the likeliest token; 1: as the model says (0.8)\n"
    "  --top-k K              of the K likeliest tokens only; 0: of all (40)\n"
    "  --top-p P              of the likeliest that are this likely together (0.95)\n"
    "  --seed N               same seed, same samples (1)\n"
    "  --show-text            write the samples as text, not as token ids\n"
    "  --keep                 the parent keeps its cache, as if for more samples\n"
    "  --help                 write this and exit\n"
    MEASUREMENT_HELP;

static struct settings parse_settings(int argc, char **argv) {
    struct settings s = {.decode.gen_len = NULL};
    const struct option known[] = {
        SHARED_OPTIONS(s),
        {"--samples", &s.samples, NULL},
        {"--temperature", &s.temperature, NULL},
        {"--top-k", &s.top_k, NULL},
        {"--top-p", &s.top_p, NULL},
        {"--seed", &s.seed, NULL},
        {"--keep", NULL, &s.keep},
    };
    parse_words(argc, argv, known, LENGTH(known));
    if (!s.decode.gen_len)
        s.decode.gen_len = DEFAULT_GEN;
    if (!s.temperature)
        s.temperature = "0.8";
    if (!s.top_p)
        s.top_p = "0.95";
    return s;
}

/* A decimal of 0..largest, of whose places the first six count. */
static float parse_decimal(const char *name, const char *text, uint largest) {
    uint64 millionths = 0, unit = 1000000;
    const char *p = text;
    for (; *p >= '0' && *p <= '9' && millionths <= largest * unit; p++)
        millionths = millionths * 10 + (uint64)(*p - '0') * unit;
    int whole = p > text;
    if (whole && *p == '.' && p[1])
        for (p++; *p >= '0' && *p <= '9'; p++)
            millionths += (uint64)(*p - '0') * (unit /= 10);
    if (!whole || *p || millionths > largest * 1000000ul)
        die("bad %s value", name);
    return (float)millionths / 1e6f;
}

static struct sampler parse_sampler(const struct settings *s) {
    struct sampler sampler = {
        .temperature = parse_decimal("--temperature", s->temperature, 100),
        .top_k = (uint)parse_number("--top-k", s->top_k, 0, 0xffffffff, 40),
        .top_p = parse_decimal("--top-p", s->top_p, 1),
    };
    if (sampler.top_p == 0.0f)
        die("bad --top-p value");
    return sampler;
}

/* =================================================================================================
 * Samples
 * ================================================================================================= */

/* All that samples have in common. */
struct work {
    struct model *model;
    struct request request;
    struct sampler sampler;
    struct cache cache;
    uint64 workspace; /* its first page */
    uint *token;      /* [generate] of the sample that this process is */
    uint samples;
};

/* What a sample sends to the parent; its tokens follow. */
struct report {
    struct memstat begun, settled, decoded;
};

static void wait_for_all(void) {
    while (wait(NULL) > 0)
        ;
}

/* Can so many processes be forked? As there is no way to ask, fork them; the dead keep their places until
 * they are waited for. */
static void check_places(uint samples) {
    uint forked = 0;
    while (forked < samples) {
        int pid = fork();
        if (pid == 0)
            exit(0);
        if (pid < 0)
            break;
        forked++;
    }
    wait_for_all();
    if (forked < samples)
        die("--samples %u: there are processes left for only %u", samples, forked);
}

/* What both the prefill and the samples write to, but for the cache. */
static void reserve_work(struct work *w, int kv_offset) {
    uint vocab = w->model->config.vocab;
    if (w->sampler.top_k == 0 || w->sampler.top_k > vocab)
        w->sampler.top_k = vocab;
    align_heap();
    w->workspace = heap_end();
    w->token = reserve(w->request.generate * sizeof *w->token);
    w->sampler.best = reserve(w->sampler.top_k * sizeof *w->sampler.best);
    memset((void *)w->workspace, 0, heap_end() - w->workspace);
    reserve_workspace(w->model, 0);
    w->cache = reserve_cache(w->model, kv_offset);
}

/* The model has just taken the prompt in. */
static void decode_sample(const struct work *w, uint64 random) {
    uint vocab = w->model->config.vocab, position = w->request.prompt;
    const float *logits = w->model->logits;
    for (uint i = 0;; i++, position++) {
        w->token[i] = choose(&w->sampler, logits, vocab, &random);
        if (i + 1 == w->request.generate)
            return;
        logits = forward(w->model, w->token[i], position, 1);
    }
}

/* What a child does. `turn` is the chain's pipe that ends here, `next` the one that begins. */
__attribute__((noreturn)) static void be_sample(const struct work *w, uint64 random, int turn, int next,
                                                int reports) {
    struct report report;
    char byte;
    if (!receive(turn, &byte, 1))
        exit(1);
    read(turn, &byte, 1); /* the end of the pipe: the sample before this one has given back what it can */
    close(turn);
    read_memory(&report.begun);
    make_own((uint64)w->model, (uint64)(w->model + 1));
    make_own(w->workspace, w->cache.start);
    read_memory(&report.settled);
    decode_sample(w, random);
    read_memory(&report.decoded);
    send(reports, &report, sizeof report);
    send(reports, w->token, w->request.generate * sizeof *w->token);
    write(next, &byte, 1);
    exit(0);
}

/* The samples before this one wait for their turn, which does not come: they end. */
__attribute__((noreturn)) static void give_up(uint sample, int start) {
    struct memstat now;
    read_memory(&now);
    close(start);
    wait_for_all();
    die("fork failed for sample %u: this process has %d pages, and %d are free", sample + 1,
        now.proc_mapped_pages, now.free_pages);
}

/* Fork all samples. They wait for a byte in the pipe *start and report to the pipe that is returned. */
static int fork_samples(const struct work *w, uint64 seed, int *start) {
    int reports[2], turn[2], next[2];
    make_pipe(reports);
    make_pipe(turn);
    *start = turn[1];
    for (uint i = 0; i < w->samples; i++) {
        uint64 random = next_random(&seed);
        make_pipe(next);
        int pid = fork();
        if (pid < 0)
            give_up(i, *start);
        if (pid == 0) {
            close(*start);
            close(reports[0]);
            close(next[0]);
            be_sample(w, random, turn[0], next[1], reports[1]);
        }
        close(turn[0]);
        close(next[1]);
        turn[0] = next[0];
    }
    close(turn[0]);
    close(reports[1]);
    return reports[0];
}

/* =================================================================================================
 * Report
 * ================================================================================================= */

struct totals {
    int copied, fresh; /* pages of the cache */
};

/* Pages that the machine gave between two readings, and pages that the process has more. The former without
 * the latter are copies: as each 2 MiB hold some of the prompt, no page table is new. */
static int used_between(const struct memstat *a, const struct memstat *b) {
    return b->used_pages - a->used_pages;
}

static int mapped_between(const struct memstat *a, const struct memstat *b) {
    return b->proc_mapped_pages - a->proc_mapped_pages;
}

/* Read what all samples have to say, and their tokens into token [samples][generate]. */
static struct totals collect(const struct work *w, int reports, uint *token) {
    struct totals totals = {0, 0};
    uint generate = w->request.generate;
    for (uint i = 0; i < w->samples; i++) {
        struct report r;
        if (!receive(reports, &r, sizeof r) ||
            !receive(reports, token + i * generate, generate * sizeof *token)) {
            wait_for_all();
            die("sample %u died: no memory?", i + 1);
        }
        int fresh = mapped_between(&r.settled, &r.decoded);
        int copied = used_between(&r.settled, &r.decoded) - fresh;
        say("sample=%u kv_copied=%d kv_new=%d other_copied=%d", i + 1, copied, fresh,
            used_between(&r.begun, &r.settled));
        totals.copied += copied;
        totals.fresh += fresh;
    }
    wait_for_all();
    return totals;
}

static void show_samples(const struct work *w, const uint *token, int as_text) {
    static struct tokenizer t;
    uint generate = w->request.generate;
    if (as_text)
        map_tokenizer(&t, w->model->config.vocab);
    for (uint i = 0; i < w->samples; i++, token += generate) {
        printf(as_text ? "[%s] sample=%u text:\n" : "[%s] sample=%u tokens=", program, i + 1);
        if (as_text)
            show_text(&t, token, generate);
        else
            show_ids(token, generate);
    }
}

/* What the forks of all samples cost, and what one sample should find. */
struct forks {
    int mapped, used; /* pages of all samples, and frames that they took */
    struct page_counts counts;
};

static void summarise(const struct work *w, const struct forks *f, const struct totals *t, int keep) {
    int samples = (int)w->samples, weights = (int)(w->workspace / PGSIZE);
    int full = samples * f->counts.shared, at_once = copied_at_once(samples, f->used, (uint64)weights);
    int copied = at_once ? full : t->copied, shared = at_once ? 0 : f->counts.shared - f->counts.written;
    int copiers = at_once ? 0 : samples - !keep;

    say("SUMMARY shared_pages=%d copied_pages=%d full_copy_pages=%d saved_pages=%d saved_percent=%d%%", shared,
        copied, full, full - copied, (full - copied) * 100 / full);
    say("fork_phase weight_pages=%d mapped_pages=%d used_pages=%d", weights, f->mapped, f->used);
    say("sample_phase copied_pages=%d copied_pages_est=%d new_pages=%d new_pages_est=%d", t->copied,
        copiers * f->counts.written, t->fresh, samples * f->counts.fresh);
    if (at_once)
        say("verdict=COPY_STYLE fork copied every page, weights included, for every sample");
    else
        say("verdict=COW_STYLE fork shared every page; a sample copied what it wrote to and others held");
}

/* Prefill, fork, decode, each with a reading of the memory before and after. */
static void run_samples(struct work *w, uint64 seed, int keep, int as_text) {
    struct memstat empty, filled, forked;
    uint prompt = w->request.prompt, generate = w->request.generate;
    int start;

    read_memory(&empty);
    prefill(w->model, prompt);
    read_memory(&filled);
    int all_mapped = filled.proc_mapped_pages == empty.proc_mapped_pages;
    struct forks f = {.counts = count_pages(&w->cache, prompt, prompt + generate - 1, all_mapped)};
    say("prefill kv_pages=%d partly_filled=%d", all_mapped ? f.counts.shared : mapped_between(&empty, &filled),
        count_pages(&w->cache, prompt, prompt + 1, 0).written);

    int reports = fork_samples(w, seed, &start);
    read_memory(&forked);
    f.mapped = (int)w->samples * filled.proc_mapped_pages;
    f.used = used_between(&filled, &forked);
    if (!keep)
        let_go(w->workspace);
    align_heap();
    uint *token = reserve((uint64)w->samples * generate * sizeof *token);
    make_own((uint64)token, heap_end());
    say("running samples...");
    write(start, "", 1);
    close(start);
    struct totals totals = collect(w, reports, token);
    show_samples(w, token, as_text);
    summarise(w, &f, &totals, keep);
}

/* =================================================================================================
 * Main
 * ================================================================================================= */

#ifndef SMOLSAMPLE_NO_MAIN
int main(int argc, char **argv) {
    static struct model m;

    if (argc > 0)
        program = last_part(argv[0]);
    struct settings s = parse_settings(argc, argv);
    if (s.decode.help) {
        printf(sample_help, program);
        return 0;
    }
    check_prompt(&s.decode, s.prompt_file);
    int kv_offset = parse_kv_offset(s.decode.kv_offset);
    uint64 seed = parse_number("--seed", s.seed, 0, ~0ul, 1);
    struct work w = {.model = &m, .sampler = parse_sampler(&s)};
    w.samples = (uint)parse_number("--samples", s.samples, 1, 1 << 20, DEFAULT_SAMPLES);
    w.request = take_request(&m, &s.decode);
    check_places(w.samples);

    say("loading LLM assets...");
    load_weights(&m);
    say("request prompt_tokens=%u gen_tokens=%u samples=%u temperature=%s top_k=%u top_p=%s seed=%lu",
        w.request.prompt, w.request.generate, w.samples, s.temperature, w.sampler.top_k, s.top_p, seed);
    reserve_work(&w, kv_offset);
    run_samples(&w, seed, s.keep, s.decode.show_text);
    return 0;
}
#endif
