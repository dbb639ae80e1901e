/* ls [PATH]...: name, type and size (bytes) of files, and of what directories hold. */

#include "user.h"

static const char *type_name(int type) {
    return type == T_DIR ? "dir" : type == T_FILE ? "file" : "dev";
}

static void show(const char *name, const struct stat *st) {
    printf("%-14s %-4s %10lu\n", name, type_name(st->type), st->size);
}

static int show_entry(const char *directory, const struct dirent *entry) {
    static char path[MAXPATH];
    struct stat st;
    int length = strlen(directory);
    const char *slash = length > 0 && directory[length - 1] == '/' ? "" : "/";
    char name[DIRSIZ + 1];

    snprintf(name, sizeof name, "%.14s", entry->name);
    if (length + 1 + strlen(name) >= MAXPATH) {
        fprintf(2, "ls: path too long: %s%s%s\n", directory, slash, name);
        return 1;
    }
    snprintf(path, sizeof path, "%s%s%s", directory, slash, name);
    if (stat(path, &st) < 0) {
        fprintf(2, "ls: cannot stat %s\n", path);
        return 1;
    }
    show(name, &st);
    return 0;
}

static int list(const char *path) {
    struct dirent entry;
    struct stat st;
    int failed = 0, fd = open(path, O_RDONLY);

    if (fd < 0 || fstat(fd, &st) < 0) {
        fprintf(2, "ls: cannot open %s\n", path);
        if (fd >= 0)
            close(fd);
        return 1;
    }
    if (st.type != T_DIR)
        show(path, &st);
    else
        while (read(fd, &entry, sizeof entry) == sizeof entry)
            if (entry.inum != 0)
                failed |= show_entry(path, &entry);
    close(fd);
    return failed;
}

int main(int argc, char **argv) {
    int failed = 0;
    if (argc < 2)
        return list(".");
    for (int i = 1; i < argc; i++)
        failed |= list(argv[i]);
    return failed;
}
