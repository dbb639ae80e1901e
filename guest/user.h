/* What every guest program may use: the system calls and the small library in ulib.c.
 *
 * The whole user stack is one page (4096 bytes) with the arguments on top of it: large buffers
 * belong in static storage or on the heap.
 *
 * xv6: user/user.h */
#ifndef NEXEMU_USER_H
#define NEXEMU_USER_H

#include "syscalls.h"

#define NULL ((void *)0)
#define PGSIZE 4096
#define DIRSIZ 14   /* a directory entry's name */
#define MAXPATH 128 /* a path, its NUL included */
#define MAXARG 32   /* exec's argv, its NULL included */
#define NPROC 16    /* processes in all */
#define MAP_FAILED ((void *)-1)
#define LENGTH(array) ((int)(sizeof(array) / sizeof((array)[0])))

/* ---- strings and memory ---- */

int strlen(const char *text);
int strcmp(const char *a, const char *b);
int strncmp(const char *a, const char *b, uint64 n);
char *strchr(const char *text, int wanted);
char *strcpy(char *to, const char *from);
void *memset(void *to, int byte, uint64 n);
void *memcpy(void *to, const void *from, uint64 n);
void *memmove(void *to, const void *from, uint64 n);
int memcmp(const void *a, const void *b, uint64 n);
int atoi(const char *text);

/* Read all of `text` as a decimal number of at most `max` into *value. 0 when it is not one. */
int parse_uint(const char *text, uint64 max, uint64 *value);
/* The argument `what` as a number of least..most; when it is not one, say so and end the program. */
int parse_int(const char *text, int least, int most, const char *what, const char *usage);

/* ---- output ----
 * %d %u %x with l for 64 bits, %p %s %c %%; a width, `-` (left), `0` (pad with zeros), `.N` with
 * %s (at most N characters), `*` for either number. A call issues one write() of up to 256
 * bytes, more only when the text is longer. */

void printf(const char *format, ...) __attribute__((format(printf, 1, 2)));
void fprintf(int fd, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* At most size-1 characters and a NUL into `to`; the number of characters written. */
int snprintf(char *to, int size, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* fprintf to fd 2, then exit(1). */
void fatal(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* ---- input ---- */

/* Read up to and with a newline, at most max-1 bytes, and add a NUL. The length; 0 at the end. */
int read_line(int fd, char *line, int max);
/* fstat by path: 0, or -1. */
int stat(const char *path, struct stat *st);

/* ---- heap (umalloc.c) ---- */

/* 16-byte aligned, uninitialised; NULL when the kernel gives no more. */
void *malloc(uint64 size);
void free(void *block);

#endif
