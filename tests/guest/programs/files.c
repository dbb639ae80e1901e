/* Files as programs see them: offsets, flags, and failures. */

#include "report.h"

int main(void) {
    struct stat st;
    char text[32];
    int fd = open("/f", O_CREATE | O_RDWR), other;
    say("created", fd);
    say("write", write(fd, "hello world", 11));
    say("at_end", read(fd, text, 5));
    close(fd);
    fd = open("/f", O_RDONLY);
    if (child()) { /* the offset is shared */
        read(fd, text, 6);
        exit(0);
    }
    status_of_child();
    say("shared_offset", read(fd, text, 5) == 5 && memcmp(text, "world", 5) == 0);
    other = open("/f", O_RDONLY);
    say("own_offset", read(other, text, 5) == 5 && memcmp(text, "hello", 5) == 0);
    close(other);
    say("read_only", write(fd, "x", 1));
    say("negative_read", read(fd, text, -1));
    say("negative_write", write(fd, text, -1));
    close(fd);
    fd = open("/f", O_WRONLY);
    say("write_only", read(fd, text, 1));
    say("overwrite", write(fd, "HE", 2));
    close(fd);
    fd = open("/f", O_RDONLY);
    memset(text, 0, sizeof text);
    say("bad_target", read(fd, (char *)~0ul, 5));
    say("offset_kept", read(fd, text, 5) == 5 && memcmp(text, "HEllo", 5) == 0);
    say("fstat", fstat(fd, &st));
    say("type", st.type);
    say("links", st.nlink);
    say("size", (long)st.size);
    close(fd);
    fd = open("/f", O_RDONLY | O_TRUNC);
    fstat(fd, &st);
    say("truncated", (long)st.size);
    close(fd);

    say("mkdir", mkdir("/d"));
    say("mkdir_again", mkdir("/d"));
    say("chdir", chdir("/d"));
    say("relative", open("g", O_CREATE | O_RDWR) >= 0);
    say("link", link("g", "/h"));
    say("link_dir", link("/d", "/e"));
    say("unlink_busy", unlink("/d"));
    say("unlink_dot", unlink("."));
    say("unlink_g", unlink("g"));
    say("unlinked", open("g", O_RDONLY));
    say("linked", open("/h", O_RDONLY) >= 0);
    say("up", chdir(".."));
    say("unlink_d", unlink("d"));
    say("open_dir_write", open("/", O_RDWR));
    say("open_missing", open("/nothing", O_RDONLY));
    say("console", open("console", O_RDWR) >= 0);
    say("console_stat", fstat(1, &st));
    say("empty_path", open("", O_RDONLY) >= 0);
    char path[200];
    memset(path, 'p', sizeof path);
    path[199] = 0;
    say("long_path", open(path, O_CREATE | O_RDWR));
    return 0;
}
