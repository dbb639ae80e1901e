"""For each pointer parameter, arguments with which the call succeeds when the pointer is good."""

from dataclasses import dataclass

from matrix_world import ARRAY, BUFFER, NULL_ARRAY, OPEN_FILE, PATH, PIPE_READER, PIPE_WRITER

POINTER = object()
"""Stands for the address that is tried."""
WORDS = b"an argument\0"


@dataclass(frozen=True)
class Scene:
    """``content`` is put at the address, as far as there is memory; ``size``: bytes that the call uses there.
    ``through``: the argument is good, and the address lies in memory where it points."""

    title: str
    call: str
    parameter: str
    arguments: tuple
    content: bytes = b""
    size: int = 0
    zombie: bool = False
    through: int | None = None


def scene(call, parameter, *arguments, title="", **how):
    name = f"{call}.{parameter}" + (f" ({title})" if title else "")
    how.setdefault("size", len(how.get("content", b"")))
    return Scene(name, call, parameter, arguments, **how)


def strings(call, parameter, *arguments, content, **how):
    return scene(call, parameter, *arguments, content=content + b"\0", **how)


LETTERS = bytes(range(32, 96))
SCENES = [
    scene("write", "buf", OPEN_FILE, POINTER, 64, title="file", content=LETTERS),
    scene("write", "buf", PIPE_WRITER, POINTER, 64, title="pipe", content=LETTERS),
    scene("write", "buf", 1, POINTER, 64, title="console", content=LETTERS),
    scene("read", "buf", OPEN_FILE, POINTER, 64, title="file", size=64),
    scene("read", "buf", PIPE_READER, POINTER, 64, title="pipe", size=64),
    scene("read", "buf", 0, POINTER, 64, title="console", size=64),
    scene("wait", "status", POINTER, size=4, zombie=True),
    strings("exec", "path", POINTER, NULL_ARRAY, content=b"/x"),
    scene("exec", "argv", PATH, POINTER, content=BUFFER.to_bytes(8, "little") + bytes(8)),
    scene("exec", "argv", PATH, ARRAY, title="argv[0]", content=WORDS, through=ARRAY),
    strings("open", "path", POINTER, 0, content=b"/f"),
    strings("open", "path", POINTER, 0, title="longest", content=b"/" * 126 + b"f"),
    strings("open", "path", POINTER, 0, title="too long", content=b"/" * 127 + b"f"),
    scene("pipe", "fds", POINTER, size=8),
    scene("fstat", "st", OPEN_FILE, POINTER, size=24),
    strings("chdir", "path", POINTER, content=b"/d"),
    strings("mkdir", "path", POINTER, content=b"/n"),
    strings("mknod", "path", POINTER, 7, 8, content=b"/n"),
    strings("unlink", "path", POINTER, content=b"/u"),
    strings("link", "old", POINTER, BUFFER, content=b"/f"),
    strings("link", "new", BUFFER, POINTER, content=b"/n"),
    scene("mmap", "addr", POINTER, 4096, 1, 3, -1, 0, size=8),
    scene("munmap", "addr", POINTER, 4096, size=8),
    scene("memstat", "st", POINTER, size=16),
    scene("getprocs", "table", POINTER, 2, size=80),
]

OTHER_STRING = {"link.old": b"/n\0", "link.new": b"/f\0"}
"""What lies in BUFFER; else a string."""


def scenes_of(prototype, parameter):
    """The scenes for a pointer parameter; for a call that nobody has thought of, one with good pointers and
    small numbers elsewhere."""
    known = [each for each in SCENES if (each.call, each.parameter) == (prototype.name, parameter.name)]
    if known:
        return known
    arguments = [
        POINTER if param is parameter else BUFFER if param.is_pointer else 8 for param in prototype.params
    ]
    return [scene(prototype.name, parameter.name, *arguments, content=b"8 bytes\0")]
