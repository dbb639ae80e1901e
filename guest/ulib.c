/* The guest's library: strings, memory, formatted output, a line reader.
 *
 * xv6: user/ulib.c, user/printf.c */

#include "user.h"

typedef __builtin_va_list va_list;
#define va_start(list, last) __builtin_va_start(list, last)
#define va_arg(list, type) __builtin_va_arg(list, type)
#define va_end(list) __builtin_va_end(list)

/* ---------------------------------------------------------------------------------------------
 * Strings and memory */

int strlen(const char *text) {
    int n = 0;
    while (text[n])
        n++;
    return n;
}

int strcmp(const char *a, const char *b) {
    while (*a && *a == *b)
        a++, b++;
    return (uint8)*a - (uint8)*b;
}

int strncmp(const char *a, const char *b, uint64 n) {
    for (; n > 0; n--, a++, b++)
        if (*a != *b || !*a)
            return (uint8)*a - (uint8)*b;
    return 0;
}

char *strchr(const char *text, int wanted) {
    for (;; text++) {
        if (*text == (char)wanted)
            return (char *)text;
        if (!*text)
            return NULL;
    }
}

char *strcpy(char *to, const char *from) {
    char *start = to;
    while ((*to++ = *from++))
        ;
    return start;
}

static int aligned(const void *a, const void *b) {
    return (((uint64)a | (uint64)b) & 7) == 0;
}

void *memset(void *to, int byte, uint64 n) {
    uint8 *p = to;
    for (; n > 0 && ((uint64)p & 7); n--)
        *p++ = (uint8)byte;
    for (; n >= 8; n -= 8, p += 8)
        *(uint64 *)p = (uint8)byte * 0x0101010101010101ul;
    for (; n > 0; n--)
        *p++ = (uint8)byte;
    return to;
}

void *memcpy(void *to, const void *from, uint64 n) {
    return memmove(to, from, n);
}

void *memmove(void *to, const void *from, uint64 n) {
    uint8 *t = to;
    const uint8 *f = from;
    if (t > f && t < f + n) {
        while (n-- > 0)
            t[n] = f[n];
        return to;
    }
    for (; n >= 8 && aligned(t, f); n -= 8, t += 8, f += 8)
        *(uint64 *)t = *(const uint64 *)f;
    for (; n > 0; n--)
        *t++ = *f++;
    return to;
}

int memcmp(const void *a, const void *b, uint64 n) {
    const uint8 *p = a, *q = b;
    for (; n > 0; n--, p++, q++)
        if (*p != *q)
            return *p - *q;
    return 0;
}

int atoi(const char *text) {
    int negative = *text == '-', value = 0;
    for (text += negative; *text >= '0' && *text <= '9'; text++)
        value = value * 10 + (*text - '0');
    return negative ? -value : value;
}

int parse_uint(const char *text, uint64 max, uint64 *value) {
    uint64 sum = 0;
    const char *p = text;
    for (; *p >= '0' && *p <= '9'; p++) {
        uint64 digit = (uint64)(*p - '0');
        if (digit > max || sum > (max - digit) / 10)
            return 0;
        sum = sum * 10 + digit;
    }
    if (p == text || *p)
        return 0;
    *value = sum;
    return 1;
}

/* ---------------------------------------------------------------------------------------------
 * Formatted output: characters go into a sink, which is a buffer in front of a file, or a string */

struct sink {
    int fd; /* -1: a string, what does not fit is dropped */
    char *text;
    int length, size;
};

struct spec {
    int left, zeros, width, precision; /* precision -1: not given */
};

static void drain(struct sink *out) {
    for (int done = 0, n; done < out->length; done += n)
        if ((n = write(out->fd, out->text + done, out->length - done)) <= 0)
            break; /* nobody reads it; a printf has no way to say so */
    out->length = 0;
}

static void put(struct sink *out, char c) {
    if (out->length == out->size) {
        if (out->fd < 0)
            return;
        drain(out);
    }
    out->text[out->length++] = c;
}

static void put_field(struct sink *out, const struct spec *spec, const char *sign, const char *text, int n) {
    int fill = spec->width - n - strlen(sign);
    for (; !spec->left && !spec->zeros && fill > 0; fill--)
        put(out, ' ');
    for (; *sign; sign++)
        put(out, *sign);
    for (; !spec->left && fill > 0; fill--)
        put(out, '0');
    for (int i = 0; i < n; i++)
        put(out, text[i]);
    for (; fill > 0; fill--)
        put(out, ' ');
}

static void put_number(struct sink *out, const struct spec *spec, const char *sign, uint64 value, uint base) {
    char digits[20]; /* 2^64-1 has twenty */
    int first = LENGTH(digits);
    do
        digits[--first] = "0123456789abcdef"[value % base];
    while ((value /= base));
    put_field(out, spec, sign, digits + first, LENGTH(digits) - first);
}

static void put_string(struct sink *out, struct spec *spec, const char *text) {
    int n = 0;
    if (!text)
        text = "(null)";
    while (n != spec->precision && text[n])
        n++;
    spec->zeros = 0;
    put_field(out, spec, "", text, n);
}

static const char *read_spec(const char *p, struct spec *spec, va_list *args) {
    *spec = (struct spec){.precision = -1};
    for (; *p == '-' || *p == '0'; p++) {
        spec->left |= *p == '-';
        spec->zeros |= *p == '0';
    }
    for (int *number = &spec->width;; number = &spec->precision) {
        if (*p == '*') {
            *number = va_arg(*args, int);
            p++;
        }
        for (; *p >= '0' && *p <= '9'; p++)
            *number = *number * 10 + (*p - '0');
        if (*p != '.' || number == &spec->precision)
            return p;
        spec->precision = 0;
        p++;
    }
}

static void put_signed(struct sink *out, struct spec *spec, long value) {
    put_number(out, spec, value < 0 ? "-" : "", value < 0 ? -(uint64)value : (uint64)value, 10);
}

static const char *put_conversion(struct sink *out, const char *p, va_list *args) {
    struct spec spec;
    p = read_spec(p, &spec, args);
    int wide = 0;
    for (; *p == 'l'; p++)
        wide = 1;
    switch (*p) {
    case 'd':
        put_signed(out, &spec, wide ? va_arg(*args, long) : va_arg(*args, int));
        break;
    case 'u':
    case 'x':
        put_number(out, &spec, "", wide ? va_arg(*args, uint64) : va_arg(*args, uint), *p == 'u' ? 10 : 16);
        break;
    case 'p':
        put_number(out, &spec, "0x", (uint64)va_arg(*args, void *), 16);
        break;
    case 's':
        put_string(out, &spec, va_arg(*args, const char *));
        break;
    case 'c':
        put_field(out, &spec, "", (char[]){(char)va_arg(*args, int)}, 1);
        break;
    case '\0':
        return p - 1; /* the format ends within a conversion: let the caller see the NUL */
    default:
        put(out, *p);
    }
    return p;
}

static void format_to(struct sink *out, const char *format, va_list *args) {
    for (const char *p = format; *p; p++) {
        if (*p == '%')
            p = put_conversion(out, p + 1, args);
        else
            put(out, *p);
    }
}

static void write_formatted(int fd, const char *format, va_list *args) {
    char text[256];
    struct sink out = {.fd = fd, .text = text, .size = LENGTH(text)};
    format_to(&out, format, args);
    drain(&out);
}

void printf(const char *format, ...) {
    va_list args;
    va_start(args, format);
    write_formatted(1, format, &args);
    va_end(args);
}

void fprintf(int fd, const char *format, ...) {
    va_list args;
    va_start(args, format);
    write_formatted(fd, format, &args);
    va_end(args);
}

int snprintf(char *to, int size, const char *format, ...) {
    struct sink out = {.fd = -1, .text = to, .size = size - 1};
    va_list args;
    va_start(args, format);
    format_to(&out, format, &args);
    va_end(args);
    to[out.length] = '\0';
    return out.length;
}

void fatal(const char *format, ...) {
    va_list args;
    va_start(args, format);
    write_formatted(2, format, &args);
    va_end(args);
    exit(1);
}

int parse_int(const char *text, int least, int most, const char *what, const char *usage) {
    uint64 value;
    if (!parse_uint(text, (uint64)most, &value) || value < (uint64)least)
        fatal("%s must be %d to %d, not %s\n%s\n", what, least, most, text, usage);
    return (int)value;
}

/* ---------------------------------------------------------------------------------------------
 * Input */

/* One byte a call: what follows the line belongs to whoever reads the file next. */
int read_line(int fd, char *line, int max) {
    int n = 0;
    while (n < max - 1 && read(fd, line + n, 1) == 1)
        if (line[n++] == '\n')
            break;
    line[n] = '\0';
    return n;
}

int stat(const char *path, struct stat *st) {
    int fd = open(path, O_RDONLY);
    if (fd < 0)
        return -1;
    int result = fstat(fd, st);
    close(fd);
    return result;
}
