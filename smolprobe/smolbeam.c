/* smolbeam: beam search, each beam a process.
 *
 * A beam is a text that may become the answer: its tokens, and a KV cache that has taken them in. In every
 * step each beam names the likeliest tokens to go on with, and of all these continuations the best `width`
 * go on. A beam that leads to several is forked, for its cache is theirs; one that leads to none is killed.
 *
 * What a fork costs. The copy shares all of the cache, and so it may for ever, but for the one page of each
 * array into which the next token's key and value go. Of n processes that share it, n - 1 copy it and the
 * last one writes in place. With a block for one page of each array:
 *
 *     copied blocks in a step = its forks, at most width - 1      none where the token begins a new page
 *     full copy of the same   = its forks * blocks that hold the text so far
 *
 * A prompt of 1,000 tokens in blocks of 16 fills 63 of them: a full copy in the first step takes 3 * 63 = 189
 * blocks for a width of 4, and copy-on-write takes 3. (A block of SmolLM2-135M is 60 pages, and holds the
 * 768 bytes that each array has for a token 5 1/3 times.)
 *
 * Who does what. This process takes the prompt in, makes the first beam of itself, lets go of the model and
 * becomes the coordinator. It asks one beam at a time to do one thing, and sleeps until the answer comes:
 * so one process at a time is ready to run, which the machine is fastest with. Beams are forked by beams.
 * If they were each other's children, who would wait for a dead one whose parent is busy, or dead itself?
 * They are forked twice, as daemons are: their parent ends at once, and init waits for orphans. */

#include "branches.h"

/* =================================================================================================
 * Options
 * ================================================================================================= */

#define MAX_WIDTH 5 /* each needs a pipe, and a process has sixteen open files */
#define DEFAULT_WIDTH 4
#define DEFAULT_GEN "16"

struct settings {
    struct options decode;
    const char *prompt_file, *width; /* NULL: not given */
};

static const char beam_help[] =
    "usage: %s [OPTION]...\n"
    "Decode with SmolLM2 by beam search, a process each beam, and show which pages of\n"
    "the KV cache are copied when beams are forked.\n"
    "\n"
    PROMPT_HELP
    "  --width N              how many beams, 1 to 5 (4)\n"
    "  --gen-len N            how many tokens (16)\n"
    "  --show-text            write the beams as text, not as token ids\n"
    "  --help                 write this and exit\n"
    MEASUREMENT_HELP;

static struct settings parse_settings(int argc, char **argv) {
    struct settings s = {.width = NULL};
    const struct option known[] = {
        SHARED_OPTIONS(s),
        {"--width", &s.width, NULL},
    };
    parse_words(argc, argv, known, LENGTH(known));
    if (!s.decode.gen_len)
        s.decode.gen_len = DEFAULT_GEN;
    return s;
}

/* =================================================================================================
 * Scores
 * ================================================================================================= */

/* The natural logarithm of x >= 1: x = m 2^e with m in [1, 2), and log m = 2 artanh((m - 1) / (m + 1)). */
static float logarithm(float x) {
    int e = (int)(as_bits(x) >> 23) - 127;
    float m = as_float((as_bits(x) & 0x7fffff) | 0x3f800000);
    float t = (m - 1.0f) / (m + 1.0f), square = t * t;
    float series = 1.0f / 11.0f;
    for (int k = 9; k > 0; k -= 2)
        series = series * square + 1.0f / (float)k;
    return (float)e * 0.69314718f + 2.0f * t * series;
}

/* best [k]: the likeliest tokens, each with the logarithm of its probability in the place of its logit. */
static void find_likeliest(struct candidate *best, uint k, const float *logits, uint vocab) {
    find_best(best, k, logits, vocab);
    float largest = best[0].logit, sum = 0.0f;
    for (uint i = 0; i < vocab; i++)
        sum += exponential(logits[i] - largest);
    float offset = largest + logarithm(sum);
    for (uint i = 0; i < k; i++)
        best[i].logit -= offset;
}

/* =================================================================================================
 * A beam
 * ================================================================================================= */

struct command {
    enum { COPY, SETTLE, TAKE } what;
    uint slot;            /* COPY: of the copy */
    uint token, position; /* TAKE */
};

struct answer {
    int pid;                          /* COPY: of the copy, -1 if there is none */
    struct candidate best[MAX_WIDTH]; /* TAKE: what may follow, each with its log probability */
};

/* All that beams have in common. */
struct work {
    struct model *model;
    struct cache cache;
    uint64 workspace; /* its first page */
    int all_mapped;   /* sbrk() has mapped the whole cache */
    uint width;
    int command[MAX_WIDTH]; /* the pipe of each slot, the end that this process uses */
    int answer;             /* the pipe of all answers, likewise */
};

/* fork() whose child is init's: 0 there, its pid here, -1 if there is none. Who forks it in turn tells its
 * pid as exit status. */
static int fork_orphan(void) {
    int between = fork(), pid = -1;
    if (between == 0) {
        int orphan = fork();
        if (orphan == 0)
            return 0;
        exit(orphan);
    }
    return between < 0 || wait(&pid) < 0 ? -1 : pid;
}

/* Make the pages our own that a forward pass writes to, but for the cache. */
static void settle(const struct work *w) {
    make_own((uint64)w->model, (uint64)(w->model + 1));
    make_own(w->workspace, w->cache.start);
}

/* Do what the coordinator says until it is gone, or until it kills us. */
__attribute__((noreturn)) static void be_beam(const struct work *w, uint slot) {
    const struct config *config = &w->model->config;
    struct command c;
    while (receive(w->command[slot], &c, sizeof c)) {
        struct answer answer = {.pid = 0};
        if (c.what == SETTLE) {
            settle(w);
        } else if (c.what == TAKE) {
            const float *logits = forward(w->model, c.token, c.position, 1);
            find_likeliest(answer.best, w->width, logits, config->vocab);
        } else if ((answer.pid = fork_orphan()) == 0) {
            slot = c.slot;
            continue; /* the original answers */
        }
        send(w->answer, &answer, sizeof answer);
    }
    exit(0);
}

/* =================================================================================================
 * The search
 * ================================================================================================= */

struct beam {
    int pid;     /* 0: nobody is in this slot */
    float score; /* the log probability of its text */
    struct candidate best[MAX_WIDTH];
};

/* A continuation: the token, and the slot of the beam whose text it continues. */
struct choice {
    uint from, token;
    float score;
};

/* What one step did, or all of them. */
struct effect {
    int killed, forked;
    int full;          /* pages that full copies of the cache would have taken */
    int copied, fresh; /* pages of the cache */
    int at_once;       /* forks that copied everything */
};

/* The best `width` continuations of all beams, best first; of equal ones the first. */
static void choose(const struct work *w, const struct beam *beam, struct choice *chosen) {
    uint next[MAX_WIDTH] = {0}; /* of each beam's candidates, which are sorted */
    for (uint i = 0; i < w->width; i++) {
        struct choice best = {MAX_WIDTH, 0, 0.0f};
        for (uint slot = 0; slot < w->width; slot++) {
            const struct candidate *c = &beam[slot].best[next[slot]];
            if (beam[slot].pid == 0 || next[slot] == w->width)
                continue;
            if (best.from == MAX_WIDTH || beam[slot].score + c->logit > best.score)
                best = (struct choice){slot, c->token, beam[slot].score + c->logit};
        }
        chosen[i] = best;
        next[best.from]++;
    }
}

/* Give each slot one of chosen [width]. The best continuation of each beam stays in its slot and needs no
 * fork. A bit is set in the result for each slot whose beam nothing continues. */
static uint assign(const struct work *w, struct choice *chosen) {
    struct choice slot[MAX_WIDTH];
    uint continued = 0, filled = 0;
    for (uint i = 0; i < w->width; i++)
        continued |= 1u << chosen[i].from;
    for (uint i = 0; i < w->width; i++) {
        uint at = chosen[i].from;
        if (filled >> at & 1)
            for (at = 0; (continued | filled) >> at & 1;)
                at++;
        slot[at] = chosen[i];
        filled |= 1u << at;
    }
    memcpy(chosen, slot, w->width * sizeof *slot);
    return filled & ~continued;
}

static struct answer ask(const struct work *w, uint slot, struct command c) {
    struct answer answer;
    send(w->command[slot], &c, sizeof c);
    if (!receive(w->answer, &answer, sizeof answer))
        die("the beams died");
    return answer;
}

/* Kill until nobody is there: a zombie can be killed too, and init needs its turn to wait for it. */
static void end_beam(struct beam *b) {
    while (b->pid > 0 && kill(b->pid) == 0)
        yield();
    b->pid = 0;
}

static void end_beams(const struct work *w, struct beam *beam) {
    for (uint slot = 0; slot < w->width; slot++)
        end_beam(&beam[slot]);
}

/* Kill those whose slot is needed; how many there were. */
static int kill_beams(const struct work *w, struct beam *beam, uint room) {
    int killed = 0;
    for (uint slot = 0; slot < w->width; slot++)
        if (room >> slot & 1 && beam[slot].pid != 0) {
            end_beam(&beam[slot]);
            killed++;
        }
    return killed;
}

/* Fork the beams that get another slot, too; how many there were. */
static int fork_beams(const struct work *w, struct beam *beam, const struct choice *chosen, uint room) {
    int forked = 0;
    for (uint slot = 0; slot < w->width; slot++)
        if (room >> slot & 1) {
            beam[slot].pid = ask(w, chosen[slot].from, (struct command){.what = COPY, .slot = slot}).pid;
            if (beam[slot].pid < 0) {
                end_beams(w, beam);
                die("fork failed for beam %u: no memory, or no process left", slot + 1);
            }
            ask(w, slot, (struct command){.what = SETTLE});
            forked++;
        }
    return forked;
}

/* Let each beam take its token in and say what may follow it. */
static void decode_beams(const struct work *w, struct beam *beam, const struct choice *chosen, uint position) {
    for (uint slot = 0; slot < w->width; slot++) {
        struct command take = {.what = TAKE, .token = chosen[slot].token, .position = position};
        struct answer answer = ask(w, slot, take);
        memcpy(beam[slot].best, answer.best, sizeof answer.best);
        beam[slot].score = chosen[slot].score;
    }
}

/* A beam that gets no memory is killed, and its answer never comes. */
static void expect_free(const struct work *w, struct beam *beam, const struct memstat *now, uint64 needed) {
    if ((uint64)now->free_pages >= needed)
        return;
    end_beams(w, beam);
    die("out of memory: %d pages are free, a step may take %lu", now->free_pages, needed);
}

/* Let the beams become what was chosen, with readings of the machine's memory in between. */
static struct effect take_step(const struct work *w, struct beam *beam, struct choice *chosen, uint position) {
    struct memstat thinned, forked, decoded;
    uint64 weights = w->workspace / PGSIZE, workspace = (w->cache.start - w->workspace) / PGSIZE;
    struct page_counts pages = count_pages(&w->cache, position, position + 1, w->all_mapped);
    uint room = assign(w, chosen);
    struct effect e = {.killed = kill_beams(w, beam, room)};

    read_memory(&thinned);
    expect_free(w, beam, &thinned, w->width * (workspace + weights / 512 + 16)); /* 16: tables, stack, data */
    e.forked = fork_beams(w, beam, chosen, room);
    read_memory(&forked);
    expect_free(w, beam, &forked, 2ul * w->width * w->cache.arrays);
    decode_beams(w, beam, chosen, position);
    read_memory(&decoded);

    e.full = e.forked * pages.shared;
    e.fresh = (int)w->width * pages.fresh;
    e.copied = decoded.used_pages - forked.used_pages - e.fresh;
    if (e.forked && copied_at_once(e.forked, forked.used_pages - thinned.used_pages, weights)) {
        e.at_once = e.forked;
        e.copied += e.full;
    }
    return e;
}

/* Decode until the beams' texts are complete: history [generate][width] is what was chosen in each step. */
static struct effect search(const struct work *w, const struct request *r, struct beam *beam,
                            struct choice *history) {
    struct effect total = {.killed = 0};
    int arrays = (int)w->cache.arrays;
    for (uint i = 0;; i++, history += w->width) {
        choose(w, beam, history);
        if (i + 1 == r->generate)
            return total;
        struct effect e = take_step(w, beam, history, r->prompt + i);
        say("step=%u killed=%d forked=%d copied_blocks=%d full_copy_blocks=%d copied_pages=%d new_pages=%d",
            i + 1, e.killed, e.forked, e.copied / arrays, e.full / arrays, e.copied, e.fresh);
        total.killed += e.killed;
        total.forked += e.forked;
        total.full += e.full;
        total.copied += e.copied;
        total.fresh += e.fresh;
        total.at_once += e.at_once;
    }
}

/* =================================================================================================
 * Report
 * ================================================================================================= */

/* The text that ends with the continuation `last` of the last step, into token [generate]. */
static void trace_back(const struct work *w, const struct choice *history, uint generate, uint last,
                       uint *token) {
    uint slot = last;
    for (uint i = generate; i-- > 0;) {
        const struct choice *c = &history[i * w->width + slot];
        token[i] = c->token;
        slot = c->from;
    }
}

static void show_beams(const struct work *w, const struct choice *history, uint generate, int as_text) {
    static struct tokenizer t;
    const struct choice *last = history + (generate - 1) * w->width;
    uint *token = reserve(generate * sizeof *token);
    if (as_text)
        map_tokenizer(&t, w->model->config.vocab);
    for (uint i = 0; i < w->width; i++) {
        int hundredths = to_nearest(last[i].score * -100.0f);
        trace_back(w, history, generate, i, token);
        printf("[%s] beam=%u score=-%d.%02d ", program, i + 1, hundredths / 100, hundredths % 100);
        printf(as_text ? "text:\n" : "tokens=");
        if (as_text)
            show_text(&t, token, generate);
        else
            show_ids(token, generate);
    }
}

static void summarise(const struct effect *e) {
    int saved = e->full - e->copied;
    say("SUMMARY copied_pages=%d full_copy_pages=%d saved_pages=%d saved_percent=%d%%", e->copied, e->full,
        saved, e->full ? saved * 100 / e->full : 0);
    say("beams killed=%d forked=%d new_pages=%d", e->killed, e->forked, e->fresh);
    if (e->at_once)
        say("verdict=COPY_STYLE fork copied every page, weights included, for every new beam");
    else
        say("verdict=COW_STYLE fork shared every page; a beam copied what it wrote to and others held");
}

/* =================================================================================================
 * Main
 * ================================================================================================= */

/* Make the first beam, and a pipe for each slot. */
static int start_beams(struct work *w) {
    int ends[2], reader[MAX_WIDTH], answers[2];
    make_pipe(answers);
    for (uint i = 0; i < w->width; i++) {
        make_pipe(ends);
        reader[i] = ends[0];
        w->command[i] = ends[1];
    }
    int pid = fork_orphan();
    if (pid < 0)
        die("fork failed for beam 1: no memory, or no process left");
    for (uint i = 0; i < w->width; i++)
        close(pid == 0 ? w->command[i] : reader[i]);
    close(answers[pid != 0]);
    w->answer = answers[pid == 0];
    if (pid != 0)
        return pid;
    memcpy(w->command, reader, w->width * sizeof *reader);
    be_beam(w, 0);
}

static void run_beams(struct work *w, const struct request *r, int as_text) {
    static struct beam beam[MAX_WIDTH];
    struct memstat empty, filled;
    uint vocab = w->model->config.vocab;

    read_memory(&empty);
    find_likeliest(beam[0].best, w->width, prefill(w->model, r->prompt), vocab);
    read_memory(&filled);
    int kv_pages = filled.proc_mapped_pages - empty.proc_mapped_pages;
    w->all_mapped = kv_pages == 0;
    struct page_counts counts = count_pages(&w->cache, r->prompt, r->prompt, w->all_mapped);
    say("prefill kv_pages=%d kv_blocks=%d block_pages=%u", counts.shared,
        counts.shared / (int)w->cache.arrays, w->cache.arrays);

    beam[0].pid = start_beams(w);
    let_go((uint64)(w->model->seq + w->model->config.runtime_seq_len));
    align_heap();
    struct choice *history = reserve(r->generate * w->width * sizeof *history);
    say("running beam search...");
    struct effect total = search(w, r, beam, history);
    end_beams(w, beam);
    show_beams(w, history, r->generate, as_text);
    summarise(&total);
}

#ifndef SMOLBEAM_NO_MAIN
int main(int argc, char **argv) {
    static struct model m;

    if (argc > 0)
        program = last_part(argv[0]);
    struct settings s = parse_settings(argc, argv);
    if (s.decode.help) {
        printf(beam_help, program);
        return 0;
    }
    check_prompt(&s.decode, s.prompt_file);
    int kv_offset = parse_kv_offset(s.decode.kv_offset);
    struct work w = {.model = &m};
    w.width = (uint)parse_number("--width", s.width, 1, MAX_WIDTH, DEFAULT_WIDTH);
    struct request request = take_request(&m, &s.decode);

    say("loading LLM assets...");
    load_weights(&m);
    say("request prompt_tokens=%u gen_tokens=%u width=%u", request.prompt, request.generate, w.width);
    align_heap();
    w.workspace = heap_end();
    reserve_workspace(&m, 0);
    w.cache = reserve_cache(&m, kv_offset);
    run_beams(&w, &request, s.decode.show_text);
    return 0;
}
#endif
