/* The guest's system calls on Linux, for running smolprobe without the machine: on the host itself
 * (x86-64), or in qemu-riscv64. No libc: guest/ulib.c is linked as in a guest.
 *
 * The heap is one mapping that Linux fills on demand, and memstat counts what mincore() says of it: the
 * lazy column of smolprobe's numbers, counted by another kernel. */

#include "user.h"

#define HEAP_BYTES (2ul << 30)

#if defined(__x86_64__)
enum { NR_read = 0, NR_write = 1, NR_close = 3, NR_lseek = 8, NR_mmap = 9, NR_mincore = 27, NR_madvise = 28,
       NR_getpid = 39, NR_exit = 60, NR_openat = 257 };
__asm__(".globl _start\n_start: mov %rsp, %rdi\n and $-16, %rsp\n call start\n");

static long call(long number, long a, long b, long c, long d, long e, long f) {
    register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
    __asm__ volatile("syscall" : "+a"(number) : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return number;
}
#elif defined(__riscv)
enum { NR_openat = 56, NR_close = 57, NR_lseek = 62, NR_read = 63, NR_write = 64, NR_exit = 93, NR_getpid = 172,
       NR_mmap = 222, NR_mincore = 232, NR_madvise = 233 };
__asm__(".globl _start\n_start: mv a0, sp\n andi sp, sp, -16\n call start\n");

static long call(long number, long a, long b, long c, long d, long e, long f) {
    register long a0 __asm__("a0") = a, a1 __asm__("a1") = b, a2 __asm__("a2") = c, a3 __asm__("a3") = d;
    register long a4 __asm__("a4") = e, a5 __asm__("a5") = f, a7 __asm__("a7") = number;
    __asm__ volatile("ecall" : "+r"(a0) : "r"(a1), "r"(a2), "r"(a3), "r"(a4), "r"(a5), "r"(a7) : "memory");
    return a0;
}
#else
#error "no system calls for this machine"
#endif

static uint8 *heap;
static uint64 heap_size;

int main(int argc, char **argv);

__attribute__((used)) static void start(long *stack) {
    exit(main((int)stack[0], (char **)(stack + 1)));
}

void exit(int status) {
    for (;;)
        call(NR_exit, status, 0, 0, 0, 0, 0);
}

static int result(long value) {
    return value < 0 ? -1 : (int)value;
}

int read(int fd, void *buf, int n) {
    return result(call(NR_read, fd, (long)buf, n, 0, 0, 0));
}

int write(int fd, const void *buf, int n) {
    return result(call(NR_write, fd, (long)buf, n, 0, 0, 0));
}

int close(int fd) {
    return result(call(NR_close, fd, 0, 0, 0, 0, 0));
}

int getpid(void) {
    return result(call(NR_getpid, 0, 0, 0, 0, 0, 0));
}

int open(const char *path, int mode) {
    int flags = mode & 3;
    if (path[0] == '/')
        path++; /* the machine's root is the folder that this runs in */
    if (mode & O_CREATE)
        flags |= 0100;
    if (mode & O_TRUNC)
        flags |= 01000;
    return result(call(NR_openat, -100, (long)path, flags, 0666, 0, 0));
}

int fstat(int fd, struct stat *st) {
    long size = call(NR_lseek, fd, 0, 2, 0, 0, 0);
    if (size < 0 || size > 1l << 48 || call(NR_lseek, fd, 0, 0, 0, 0, 0) != 0)
        return -1;
    *st = (struct stat){.type = T_FILE, .nlink = 1, .size = (uint64)size};
    return 0;
}

void *mmap(void *addr, uint64 len, int prot, int flags, int fd, uint64 off) {
    (void)flags; /* of the machine's there is MAP_PRIVATE only */
    long at = call(NR_mmap, (long)addr, (long)len, prot, 2, fd, (long)off);
    return at < 0 && at > -PGSIZE ? MAP_FAILED : (void *)at;
}

void *sbrk(int n) {
    if (!heap) {
        heap = (uint8 *)call(NR_mmap, 0, HEAP_BYTES, PROT_READ | PROT_WRITE, 0x4022, -1, 0);
        call(NR_madvise, (long)heap, HEAP_BYTES, 15, 0, 0, 0); /* no huge pages */
    }
    uint64 old = heap_size;
    if ((n < 0 && (uint64)-(long)n > old) || (n > 0 && old + (uint64)n > HEAP_BYTES))
        return (void *)-1;
    heap_size = old + (uint64)(long)n;
    return heap + old;
}

int memstat(struct memstat *now) {
    static uint8 resident[HEAP_BYTES / PGSIZE];
    uint64 pages = (heap_size + PGSIZE - 1) / PGSIZE;
    int mapped = 0;
    if (call(NR_mincore, (long)heap, (long)(pages * PGSIZE), (long)resident, 0, 0, 0) < 0)
        return -1;
    for (uint64 i = 0; i < pages; i++)
        mapped += resident[i] & 1;
    *now = (struct memstat){.used_pages = mapped, .proc_mapped_pages = mapped, .proc_sz_pages = (int)pages};
    return 0;
}

#if defined(__x86_64__)
/* What smolprobe asks for where there is no fsqrt.s. */
float sqrtf(float x);
float sqrtf(float x) {
    __asm__("sqrtss %0, %0" : "+x"(x));
    return x;
}
#endif
