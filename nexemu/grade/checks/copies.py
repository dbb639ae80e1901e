"""The kernel's own copies: ``copyin`` and ``copyout`` meet the same pages as programs do."""

from typing import Final

from nexemu.abi import T_FILE
from nexemu.grade.checks.check import Check
from nexemu.grade.testbed.expect import Lost, equal, true
from nexemu.grade.testbed.program import DATA, DATA_PAGE, TEXT, TEXT_PAGE
from nexemu.grade.testbed.puppet import Puppet
from nexemu.grade.testbed.testbed import Testbed
from nexemu.riscv import PGSIZE, VA

O_RDONLY, O_RDWR = 0, 2
NAME: Final = b"/letters\0"
LETTERS: Final = bytes(range(65, 91)) * 1000


def copyin_of_untouched_pages(bed: Testbed) -> None:
    """write() from untouched pages delivers zeros."""
    p = bed.start()
    fd = _open_letters(bed, p, b"")
    heap = p.grow(3)
    p.must_be_untouched(heap)
    equal("what write(fd, untouched page, 6000) returns", p.write(fd, heap + 1000, 6000), 6000)
    equal("bytes in the file", _content(bed), bytes(6000), _summary)


def copyinstr_across_pages(bed: Testbed) -> None:
    """open() of a name whose final zero lies on an untouched page succeeds."""
    p = bed.start()
    _open_letters(bed, p, LETTERS)
    heap = p.grow(2)
    at = heap + PGSIZE - len(NAME) + 1  # the final zero is the first byte of an untouched page
    p.must_be_untouched(heap + PGSIZE)
    p.store(heap, 0)
    p.poke(at, NAME[:-1])
    result = p.open(at, O_RDONLY)
    true(
        "open of a name that ends with its page succeeds",
        isinstance(result, int) and result >= 0,
        f"{result}",
    )


def copyout_to_untouched_pages(bed: Testbed) -> None:
    """read() into untouched pages stores the bytes there, and zeros around them."""
    p = bed.start()
    fd = _open_letters(bed, p, LETTERS)
    heap = p.grow(3)
    p.must_be_untouched(heap)
    equal("what read(fd, untouched page, 6000) returns", p.read(fd, heap + 1000, 6000), 6000)
    expected = bytes(1000) + LETTERS[:6000] + bytes(2 * PGSIZE - 7000)
    equal("the two pages", p.peek(heap, 2 * PGSIZE), expected, _summary)


def copyout_to_a_shared_page(bed: Testbed) -> None:
    """read() into a page that is shared since fork changes the caller's page only."""
    p = bed.start()
    fd = _open_letters(bed, p, LETTERS)
    c = p.fork()
    p.must_share(c, DATA)
    equal("what read(fd, shared page, 100) returns", c.read(fd, DATA, 100), 100)
    equal("the parent's page", p.peek(DATA, PGSIZE), DATA_PAGE, _summary)
    equal("the child's page", c.peek(DATA, PGSIZE), LETTERS[:100] + DATA_PAGE[100:], _summary)


def copyout_across_shared_pages(bed: Testbed) -> None:
    """read() across three shared pages changes none of the other process's."""
    p = bed.start()
    fd = _open_letters(bed, p, LETTERS)
    heap = p.grow_and_store(3)
    before = p.peek(heap, 3 * PGSIZE)
    c = p.fork()
    p.must_share(c, heap)
    equal("what read(fd, three shared pages, 9000) returns", c.read(fd, heap + 500, 9000), 9000)
    equal("the parent's pages", p.peek(heap, 3 * PGSIZE), before, _summary)
    expected = before[:500] + LETTERS[:9000] + before[9500:]
    equal("the child's pages", c.peek(heap, 3 * PGSIZE), expected, _summary)


def the_program_sees_it(bed: Testbed) -> None:
    """After read() into a shared page that the program knows, it loads the new bytes."""
    p = bed.start()
    fd = _open_letters(bed, p, LETTERS)
    c = p.fork()
    p.must_share(c, DATA)
    equal("what the child loads before read()", c.load(DATA), DATA_PAGE[0])
    c.read(fd, DATA, 1)
    equal("what the child loads after read() of an A", c.load(DATA), LETTERS[0])


def text_is_refused(bed: Testbed) -> None:
    """read() into text returns -1, before and after fork."""
    p = bed.start()
    fd = _open_letters(bed, p, LETTERS)
    equal("what read(fd, text, 1) returns", p.read(fd, TEXT, 1), -1)
    c = p.fork()
    equal("what it returns in a child", c.read(fd, TEXT, 1), -1)
    equal("the text", p.peek(TEXT, PGSIZE), TEXT_PAGE, _summary)


def beyond_the_break(bed: Testbed) -> None:
    """read() and write() at the break return -1."""
    p = bed.start()
    fd = _open_letters(bed, p, LETTERS)
    end = p.grow(1) + PGSIZE
    free = bed.free
    equal("what read(fd, the break, 1) returns", p.read(fd, end, 1), -1)
    equal("what write(fd, the break, 1) returns", p.write(fd, end, 1), -1)
    equal("frames that they took", free - bed.free, 0)


def _open_letters(bed: Testbed, p: Puppet, content: bytes) -> int:
    """A descriptor of ``p`` for a file with ``content``. Its name is in p's data page, and is gone again."""
    fs = bed.kernel.fs
    fs.writei(fs.create(NAME[:-1], T_FILE, fs.root), 0, content)
    p.poke(DATA, NAME)
    fd = p.open(DATA, O_RDWR)
    p.poke(DATA, DATA_PAGE)
    if not isinstance(fd, int) or fd < 0:
        raise Lost("open succeeds", f"it returns {fd}")
    return fd


def _content(bed: Testbed) -> bytes:
    inode = bed.kernel.fs.namei(NAME[:-1], bed.kernel.fs.root)
    return bytes(inode.readi(0, inode.size))


def _summary(data: bytes) -> str:
    """Where ``data`` is what, in a line."""
    runs: list[str] = []
    start: VA = 0
    for at in range(1, len(data) + 1):
        if at == len(data) or data[at] != data[start]:
            if at - start >= 16:
                runs.append(f"{at - start} bytes {data[start]:#04x} from {start}")
            start = at
    return f"{len(data)} bytes beginning {data[:8].hex()}, " + (", ".join(runs[:4]) or "no long runs")


CHECKS: Final = (
    Check("copyin: untouched pages", copyin_of_untouched_pages, "prepare_copyin: an untouched page"),
    Check("copyin: a string across pages", copyinstr_across_pages, "prepare_copyin: an untouched page"),
    Check("copyout: untouched pages", copyout_to_untouched_pages, "prepare_copyout: an untouched page"),
    Check("copyout: a shared page", copyout_to_a_shared_page, "prepare_copyout: a copy-on-write page"),
    Check("copyout: every shared page", copyout_across_shared_pages, "prepare_copyout: every page"),
    Check("copyout: the program sees it", the_program_sees_it, "sfence_vma: when the hart must forget"),
    Check("copyout: text is refused", text_is_refused, "prepare_copyout: a page that forbids it"),
    Check(
        "copies: the break is their border too",
        beyond_the_break,
        "prepare_copyin: bad addresses",
    ),
)
