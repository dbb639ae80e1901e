/* sh [-c COMMANDS...]: the shell. Without -c it reads commands from standard input to its end;
 * the pieces after -c make one text, since exec passes no string of 128 bytes or more.
 *
 *     line     = [list] end of line
 *     list     = pipeline { (";" | "&" | "&&" | "||") pipeline } [";" | "&"]
 *     pipeline = command { "|" command }
 *     command  = { WORD | "<" WORD | ">" WORD | ">>" WORD }
 *
 * 'single' and "double" quotes and \ take away the meaning of what they hold; $? is the last
 * exit status, a number also within double quotes; # begins a comment. A word with a slash names
 * a file, any other is looked for in /. Nothing of a line runs when it has a syntax error.
 *
 * xv6: user/sh.c */

#include "user.h"

#define LINE 1024
#define MAX_STAGES 8

enum token { END, NEWLINE, WORD, SEMICOLON, BACKGROUND, AND, OR, PIPE, INPUT, OUTPUT, APPEND };

struct command {
    char *argv[MAXARG];
    int argc;
    char *input, *output; /* files to redirect from and to, or NULL */
    int append;
};

static int status;         /* of the last pipeline */
static const char *cursor; /* the next character of the line */
static enum token token;   /* the token before the cursor */
static char *word;         /* its text, when it is a WORD */
static const char *error;  /* why the line cannot be run; NULL while it can */

static char words[LINE * 2]; /* the text of one pipeline's words */
static int words_used;
static struct command stages[MAX_STAGES];
static int stage_count;

/* ---------------------------------------------------------------------------------------------
 * Words and operators */

static void keep(char c) {
    if (words_used == LENGTH(words))
        error = "line too long";
    else
        words[words_used++] = c;
}

static void keep_status(void) {
    char digits[12];
    snprintf(digits, sizeof digits, "%d", status);
    for (char *d = digits; *d; d++)
        keep(*d);
}

/* One character of a word, or what stands for it; `quote` is the quote it is in, or 0. */
static void read_character(char quote) {
    if (quote != '\'' && cursor[0] == '$' && cursor[1] == '?') {
        keep_status();
        cursor += 2;
        return;
    }
    if (quote != '\'' && cursor[0] == '\\' && cursor[1])
        cursor++;
    keep(*cursor++);
}

static void read_word(void) {
    char quote = 0;
    word = &words[words_used];
    while (*cursor && (quote || !strchr(" \t\n;&|<>", *cursor))) {
        if (*cursor == quote || (!quote && strchr("'\"", *cursor)))
            quote = quote ? 0 : *cursor, cursor++;
        else
            read_character(quote);
    }
    if (quote)
        error = "a quote is not closed";
    keep('\0');
}

/* The operator `c`, or the one that is written as two of them. */
static enum token once_or_twice(char c, enum token once, enum token twice) {
    if (*cursor != c)
        return once;
    cursor++;
    return twice;
}

static enum token next_token(void) {
    while (*cursor == ' ' || *cursor == '\t')
        cursor++;
    while (*cursor == '#')
        while (*cursor && *cursor != '\n')
            cursor++;
    switch (*cursor++) {
    case '\0':
        cursor--;
        return END;
    case '\n':
        return NEWLINE;
    case ';':
        return SEMICOLON;
    case '<':
        return INPUT;
    case '>':
        return once_or_twice('>', OUTPUT, APPEND);
    case '&':
        return once_or_twice('&', BACKGROUND, AND);
    case '|':
        return once_or_twice('|', PIPE, OR);
    }
    cursor--;
    read_word();
    return WORD;
}

static void advance(void) {
    token = next_token();
}

/* ---------------------------------------------------------------------------------------------
 * Commands and pipelines */

static void parse_redirection(struct command *command) {
    enum token kind = token;
    advance();
    if (token != WORD) {
        error = "a file name is missing";
        return;
    }
    if (kind == INPUT)
        command->input = word;
    else
        command->output = word, command->append = kind == APPEND;
}

static void parse_command(struct command *command) {
    *command = (struct command){.argc = 0};
    for (; !error && (token == WORD || token >= INPUT); advance()) {
        if (token != WORD)
            parse_redirection(command);
        else if (command->argc == MAXARG - 1)
            error = "too many args";
        else
            command->argv[command->argc++] = word;
    }
    if (!error && command->argc == 0)
        error = "a command is missing";
}

static void parse_pipeline(void) {
    for (stage_count = 0;; advance()) {
        if (stage_count == MAX_STAGES) {
            error = "too many pipes";
            return;
        }
        parse_command(&stages[stage_count++]);
        if (error || token != PIPE)
            return;
    }
}

/* ---------------------------------------------------------------------------------------------
 * Commands that the shell does itself */

static int change_directory(const struct command *command) {
    if (command->argc > 2) {
        fprintf(2, "[sh] usage: cd [dir]\n");
        return 1;
    }
    if (chdir(command->argc == 2 ? command->argv[1] : "/") < 0) {
        fprintf(2, "[sh] cd failed\n");
        return 1;
    }
    return 0;
}

static int leave(const struct command *command) {
    const char *text = command->argv[1];
    uint64 number;
    if (command->argc == 1)
        exit(status);
    int negative = text[0] == '-';
    if (command->argc > 2 || !parse_uint(text + negative, 0x7fffffff, &number)) {
        fprintf(2, "[sh] usage: exit [n]\n");
        return 1;
    }
    exit(negative ? -(int)number : (int)number);
}

static int help(void) {
    printf("builtins: cd [dir], exit [n], help; programs: ls /\n"
           "syntax: a b | c; a && b || c; a < file > file >> file; a &; 'quotes'; $?; # comment\n");
    return 0;
}

/* Does a builtin command: 1, and its status in *result. 0 when it is none. */
static int builtin(const struct command *command, int *result) {
    const char *name = command->argv[0];
    if (strcmp(name, "cd") == 0)
        *result = change_directory(command);
    else if (strcmp(name, "exit") == 0)
        *result = leave(command);
    else if (strcmp(name, "help") == 0)
        *result = help();
    else
        return 0;
    return 1;
}

/* ---------------------------------------------------------------------------------------------
 * Processes */

/* Let `to` mean what `from` means, which must be open; every fd below `to` is. */
static void move_fd(int from, int to) {
    if (from == to)
        return;
    close(to);
    dup(from);
    close(from);
}

static void open_as(int to, const char *path, int mode) {
    int fd = open(path, mode);
    if (fd < 0) {
        fprintf(2, "[sh] cannot open %s\n", path);
        exit(1);
    }
    move_fd(fd, to);
}

/* The kernel has no O_APPEND: reading to the end moves the offset there. */
static void skip_to_end(int fd) {
    static char skipped[PGSIZE];
    while (read(fd, skipped, sizeof skipped) > 0)
        ;
}

static void redirect(const struct command *command) {
    if (command->input)
        open_as(0, command->input, O_RDONLY);
    if (!command->output)
        return;
    open_as(1, command->output, command->append ? O_RDWR | O_CREATE : O_WRONLY | O_CREATE | O_TRUNC);
    if (command->append)
        skip_to_end(1);
}

/* exec takes no string of MAXPATH bytes or more; say so, since it only says -1. */
static void check_lengths(const struct command *command) {
    for (int i = 0; i < command->argc; i++) {
        if (strlen(command->argv[i]) < MAXPATH)
            continue;
        fprintf(2, "[sh] arg too long: %.20s...\n", command->argv[i]);
        exit(127);
    }
}

__attribute__((noreturn)) static void run_program(struct command *command) {
    static char path[LINE];
    int result;
    redirect(command);
    if (builtin(command, &result))
        exit(result);
    check_lengths(command);
    snprintf(path, sizeof path, "%s%s", strchr(command->argv[0], '/') ? "" : "/", command->argv[0]);
    command->argv[0] = path;
    exec(path, command->argv);
    fprintf(2, "[sh] exec failed\n");
    exit(127);
}

/* Start one stage with `input` (or -1) as its standard input. Its pid, or -1; *output is where
 * the next stage reads, or -1 after the last one. */
static int start(struct command *command, int input, int *output) {
    int ends[2] = {-1, -1};
    int last = command == &stages[stage_count - 1];
    int pid = !last && pipe(ends) < 0 ? -1 : fork();
    if (pid == 0) {
        if (input >= 0)
            move_fd(input, 0);
        if (!last) {
            close(ends[0]);
            move_fd(ends[1], 1);
        }
        run_program(command);
    }
    if (pid < 0)
        fprintf(2, "[sh] fork failed\n");
    if (input >= 0)
        close(input);
    if (ends[1] >= 0)
        close(ends[1]);
    *output = ends[0];
    return pid;
}

/* Start every stage; how many run, and the last one's pid in *last. */
static int start_all(int *last) {
    int input = -1, started = 0;
    for (; started < stage_count; started++)
        if ((*last = start(&stages[started], input, &input)) < 0)
            break;
    if (input >= 0)
        close(input);
    return started;
}

static void run_foreground(void) {
    int last = -1, ended;
    int plain = stage_count == 1 && !stages[0].input && !stages[0].output;
    if (plain && builtin(&stages[0], &status))
        return;
    status = 1; /* unless the last stage says otherwise */
    for (int running = start_all(&last), pid; running > 0; running--) {
        if ((pid = wait(&ended)) < 0)
            return;
        if (pid == last)
            status = ended;
    }
}

/* Run the pipeline as a grandchild, which init reaps; it reads nothing from the console. */
static void run_background(void) {
    int last, empty[2];
    int pid = fork();
    if (pid == 0) {
        if (pipe(empty) == 0) {
            close(empty[1]);
            move_fd(empty[0], 0);
        }
        start_all(&last);
        exit(0);
    }
    if (pid < 0)
        fprintf(2, "[sh] fork failed\n");
    else
        wait(NULL);
    status = pid < 0;
}

/* ---------------------------------------------------------------------------------------------
 * Lines */

/* Whether the pipeline after the operator `before` runs. */
static int wanted(enum token before) {
    return before == AND ? status == 0 : before == OR ? status != 0 : 1;
}

/* Read `text` and, unless `dry`, run it pipeline by pipeline. */
static void run_list(const char *text, int dry) {
    enum token before = NEWLINE;
    cursor = text;
    error = NULL;
    do {
        words_used = 0;
        advance();
        if (before != AND && before != OR && (token == NEWLINE || token == END))
            continue;
        parse_pipeline();
        if (error)
            return;
        if (!dry && wanted(before))
            token == BACKGROUND ? run_background() : run_foreground();
        before = token;
    } while (token != END);
}

static void run_text(const char *text) {
    run_list(text, 1);
    if (!error) {
        run_list(text, 0);
        return;
    }
    fprintf(2, "[sh] %s\n", error);
    status = 2;
}

/* Read the rest of a line that is longer than the buffer. */
static void skip_line(char *line) {
    for (int n; (n = read_line(0, line, LINE)) > 0 && line[n - 1] != '\n';)
        ;
}

static void run_input(void) {
    static char line[LINE];
    struct stat st;
    int prompts = fstat(0, &st) < 0 || st.type == T_DEVICE; /* a pipe or the console, not a script */
    for (int n;;) {
        if (prompts)
            fprintf(2, "$ ");
        if ((n = read_line(0, line, LINE)) == 0)
            break;
        if (n == LINE - 1 && line[n - 1] != '\n') {
            fprintf(2, "[sh] line too long\n");
            status = 2;
            skip_line(line);
        } else {
            run_text(line);
        }
    }
    if (prompts)
        fprintf(2, "\n");
}

static void run_pieces(int count, char **pieces) {
    static char text[MAXARG * MAXPATH];
    char *end = text;
    for (int i = 0; i < count; i++) {
        strcpy(end, pieces[i]);
        end += strlen(end);
    }
    run_text(text);
}

int main(int argc, char **argv) {
    if (argc > 2 && strcmp(argv[1], "-c") == 0) {
        run_pieces(argc - 2, argv + 2);
        return status;
    }
    if (argc > 1)
        fatal("usage: sh [-c COMMANDS...]\n");
    run_input();
    return 0;
}
