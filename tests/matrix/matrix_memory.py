"""What user memory should be after the kernel has read from it or written to it: ABI.md section 5, "Kernel
copies", on plain dicts.

A page is its bytes and its rights. A page is readable for the kernel when it has U, writable when
it has U and W; a store to a COW page makes it writable; below the break a page of zeros appears
where pages are lazy; everything else is bad, and what lies before a bad page is done.
"""

from nexemu.riscv import MAXVA, PGMASK, PGSIZE, PTE_COW, PTE_R, PTE_U, PTE_V, PTE_W

LAZY_RIGHTS = PTE_V | PTE_R | PTE_W | PTE_U


class UserMemory:
    """``pages`` as gate.view() shows them, a break, and whether pages below it may appear. ``appeared`` and
    ``unshared`` count what has happened since."""

    def __init__(self, pages, size, lazy):
        self.pages = {va: (bytearray(data), rights) for va, (data, rights) in pages.items()}
        self.size = size
        self.lazy = lazy
        self.appeared = set()
        self.unshared = set()

    def view(self):
        return {va: (bytes(data), rights) for va, (data, rights) in self.pages.items()}

    def page(self, va, to_write):
        """The bytes of the page at ``va``, after making it usable; None when it is bad."""
        start = va & ~PGMASK
        if va >= MAXVA:
            return None
        if start not in self.pages:
            if not self.lazy or start >= self.size:
                return None
            self.pages[start] = bytearray(PGSIZE), LAZY_RIGHTS
            self.appeared.add(start)
        data, rights = self.pages[start]
        if not rights & PTE_U:
            return None
        if to_write and not rights & PTE_W:
            if not rights & PTE_COW:
                return None
            self.pages[start] = data, rights & ~PTE_COW | PTE_W
            self.unshared.add(start)
        return data

    def pieces(self, va, count):
        """The bytes from ``va``, page by page, up to the first bad page."""
        end = va + count
        while va < end:
            page = self.page(va, to_write=False)
            if page is None:
                return
            stop = min(end, (va | PGMASK) + 1)
            yield bytes(page[va & PGMASK : (va & PGMASK) + stop - va])
            va = stop

    def read(self, va, count):
        return b"".join(self.pieces(va, count))

    def write(self, va, data):
        """How many bytes could be stored."""
        done = 0
        while done < len(data):
            page = self.page(va + done, to_write=True)
            if page is None:
                break
            at = (va + done) & PGMASK
            count = min(len(data) - done, PGSIZE - at)
            page[at : at + count] = data[done : done + count]
            done += count
        return done

    def string(self, va, limit):
        """The bytes up to a NUL within ``limit`` bytes, or None."""
        text = b""
        while len(text) < limit:
            at = va + len(text)
            piece = self.read(at, min(limit - len(text), PGSIZE - (at & PGMASK)))
            head, nul, _ = piece.partition(b"\0")
            text += head
            if nul:
                return text
            if not piece:
                return None
        return None
