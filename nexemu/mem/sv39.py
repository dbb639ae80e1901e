"""Sv39 page tables, kept in guest RAM as the hardware would find them.

Owns the table frames of one address space, never the frames that leaves point at: those
belong to whoever maps them. A PTE is addressed by its index among RAM's 64-bit words, the
Python counterpart of xv6's ``pte_t *``.

Every table is reached by 4 KiB leaves only: a leaf above level 0 (a superpage) is never made
here and reads as unmapped.

xv6: kernel/vm.c, walk() to freewalk(). Privileged Architecture, "Sv39".
"""

from collections.abc import Callable, Iterator
from itertools import compress
from typing import Final, NamedTuple

from nexemu.errors import panic
from nexemu.mem.kalloc import KERNEL, FrameAllocator
from nexemu.mem.phys import ZERO_PAGE
from nexemu.riscv import (
    ENTRIES,
    MAXVA,
    PA,
    PGMASK,
    PGSIZE,
    PTE,
    PTE_A,
    PTE_D,
    PTE_RESERVED,
    PTE_RWX,
    PTE_U,
    PTE_V,
    VA,
    flags_text,
    pa2pte,
    pte2pa,
    px,
)

NON_LEAF = PTE_V | PTE_RWX | PTE_U | PTE_A | PTE_D | PTE_RESERVED
"""The bits that tell a pointer to the next level: of these, only V may be set."""

ROW: Final = 128
"""Entries that are looked at together: most tables are mostly zeros, which are skipped at the speed of C."""

EMPTY_ROW: Final = bytes(8 * ROW)
EMPTY: Final = memoryview(EMPTY_ROW).cast("Q")
"""A row without entries."""

LEAF_SPAN = ENTRIES * PGSIZE
"""Bytes that one last-level table maps: 2 MiB."""


class Leaf(NamedTuple):
    """A valid leaf: the page it maps, where its PTE is, and the PTE."""

    va: VA
    at: int
    pte: PTE


class LeafTable(NamedTuple):
    """A last-level table: the first address it maps, and the index of its first PTE."""

    va: VA
    at: int


class PageTable:
    """The three-level table of one address space. Creating one takes a frame for its root.

    Like a core, it keeps a page-walk cache: where the last-level table of each 2 MiB region lies.
    It stays true because only :meth:`walk` links tables, and none is unlinked before :meth:`free`.
    """

    __slots__ = ("frames", "root", "walk_cache", "words", "_first_word", "_root_index")

    def __init__(self, frames: FrameAllocator) -> None:
        self.frames = frames
        self.words = frames.ram.words
        self._first_word = frames.ram.first_word
        self.root: PA = frames.kalloc_zeroed(KERNEL)
        self._root_index = self._index_of(self.root)
        self.walk_cache: dict[int, int] = {}

    def lookup(self, va: VA) -> int:
        """The index of the leaf PTE for any 64-bit ``va``, or -1 where no last-level table exists. The PTE
        itself may be invalid. This is the walk that the hardware does."""
        leaf_table = self.walk_cache.get(va >> 21)
        if leaf_table is None:
            return self._walk_levels(va)
        return leaf_table + (va >> 12 & 511)

    def _walk_levels(self, va: VA) -> int:
        if va >= MAXVA:
            return -1
        pte = self.words[self._root_index + (va >> 30)]
        if pte & NON_LEAF != PTE_V:
            return -1
        pte = self.words[(pte >> 10 << 9) - self._first_word + (va >> 21 & 511)]
        if pte & NON_LEAF != PTE_V:
            return -1
        leaf_table = self.walk_cache[va >> 21] = (pte >> 10 << 9) - self._first_word
        return leaf_table + (va >> 12 & 511)

    def pte(self, va: VA) -> PTE:
        """The leaf PTE for ``va``, 0 where there is none. Any 64-bit ``va`` is allowed."""
        index = self.lookup(va)
        return self.words[index] if index >= 0 else 0

    def walk(self, va: VA) -> int:
        """The index of the leaf PTE for ``va``, making the tables on the way. Raises OutOfMemory;
        tables made before that stay, empty, and are freed with the rest."""
        if va >= MAXVA:
            panic(f"walk: {va:#x} is beyond MAXVA")
        leaf_table = self.walk_cache.get(va >> 21)
        if leaf_table is None:
            leaf_table = self.walk_cache[va >> 21] = self._make_tables(va)
        return leaf_table + px(0, va)

    def _make_tables(self, va: VA) -> int:
        """The last-level table for ``va``, made if there is none."""
        table = self._root_index
        for level in (2, 1):
            index = table + px(level, va)
            pte = self.words[index]
            if not pte & PTE_V:
                pte = self.words[index] = pa2pte(self.frames.kalloc_zeroed(KERNEL)) | PTE_V
            elif pte & NON_LEAF != PTE_V:
                panic(f"walk: {va:#x} meets {pte:#x} at level {level}, which points to no table")
            table = self._index_of(pte2pa(pte))
        return table

    def _index_of(self, table: PA) -> int:
        return (table >> 3) - self._first_word

    def _frame_at(self, index: int) -> PA:
        return (index + self._first_word) << 3

    def mappages(self, va: VA, size: int, pa: PA, flags: int) -> None:
        """Map ``size`` bytes from ``va`` to consecutive frames from ``pa``, all page aligned. A page
        that is mapped already is a panic. Raises OutOfMemory, then nothing of it is mapped."""
        if (va | size | pa) & PGMASK or not size:
            panic(f"mappages: {va:#x}+{size:#x} to {pa:#x} is not aligned")
        for offset in range(0, size, PGSIZE):
            try:
                index = self.walk(va + offset)
            except Exception:
                self.unmap(va, va + offset, None)
                raise
            if self.words[index] & PTE_V:
                panic(f"mappages: remap of {va + offset:#x}")
            self.words[index] = pa2pte(pa + offset) | flags | PTE_V

    def unmap(self, start: VA, end: VA, release: Callable[[list[PTE]], None] | None) -> int:
        """Clear every leaf from ``start`` up to ``end``, skipping holes, and hand them to ``release``, many
        at a time. Returns how many there were. Tables stay."""
        if (start | end) & PGMASK:
            panic(f"unmap: {start:#x}..{end:#x} is not aligned")
        count = 0
        for table in self.leaf_tables(start, end):
            first = max(0, (start - table.va) // PGSIZE)
            beyond = min(ENTRIES, (end - table.va) // PGSIZE)
            for row in self.rows(table.at + first, table.at + beyond):
                removed = list(filter(None, self.words[row].tolist()))
                self.words[row] = EMPTY[: row.stop - row.start]
                count += self._release(removed, release)
        return count

    def rows(self, start: int, end: int) -> list[slice]:
        """The words from ``start`` up to ``end`` of one table, in rows, without the rows that are empty."""
        table = self.frames.ram.bytes[start << 3 : end << 3].tobytes()
        return [
            slice(start + row, min(start + row + ROW, end))
            for row in range(0, end - start, ROW)
            if not table.startswith(EMPTY_ROW, row << 3)
        ]

    def _release(self, removed: list[PTE], release: Callable[[list[PTE]], None] | None) -> int:
        valid = [pte for pte in removed if pte & PTE_V]
        if release is not None:
            release(valid)
        if self.frames.pager is not None and len(valid) < len(removed):
            for pte in removed:
                if not pte & PTE_V:
                    self.frames.pager.drop(pte)
        return len(valid)

    def leaf_tables(self, start: VA = 0, end: VA = MAXVA) -> Iterator[LeafTable]:
        """The last-level tables that map anything from ``start`` up to ``end``, in order. The cost
        is that of the tables that exist, however wide the range."""
        for top, middle_table in self._tables(self._root_index):
            for middle, leaf_table in self._tables(middle_table):
                va = top << 30 | middle << 21
                if va + LEAF_SPAN > start and va < end:
                    yield LeafTable(va, leaf_table)

    def _tables(self, index: int) -> list[tuple[int, int]]:
        """The entries of the table at ``index`` that point to another one: their slot, and its index."""
        table = self.entries(index)
        return [(slot, self._index_of(pte2pa(pte))) for slot, pte in table if pte & NON_LEAF == PTE_V]

    def entries(self, index: int) -> list[tuple[int, PTE]]:
        """What stands in the table at ``index``: each entry that is not 0, with its slot."""
        found: list[tuple[int, PTE]] = []
        for row in self.rows(index, index + ENTRIES):
            entries = self.words[row].tolist()
            first = row.start - index
            found += [(first + slot, entries[slot]) for slot in compress(range(ROW), entries)]
        return found

    def leaves(self, start: VA = 0, end: VA = MAXVA, wanted: int = PTE_V) -> Iterator[Leaf]:
        """The leaves from ``start`` up to ``end`` that have a bit of ``wanted``, in order."""
        for table in self.leaf_tables(start, end):
            for slot, pte in self.entries(table.at):
                if pte & wanted and start <= table.va + slot * PGSIZE < end:
                    yield Leaf(table.va + slot * PGSIZE, table.at + slot, pte)

    def table_frames(self) -> Iterator[PA]:
        """Every frame that this table itself occupies, the root included."""
        yield self.root
        for _, middle_table in self._tables(self._root_index):
            yield self._frame_at(middle_table)
            yield from (self._frame_at(leaf_table) for _, leaf_table in self._tables(middle_table))

    def free(self) -> None:
        """Give the table's own frames back. No leaf may be left."""
        for top, middle_table in self._tables(self._root_index):
            for middle, leaf_table in self._tables(middle_table):
                self._expect_empty(top << 30 | middle << 21, leaf_table)
                self.frames.kfree(self._frame_at(leaf_table))
            self.frames.kfree(self._frame_at(middle_table))
        self.frames.kfree(self.root)

    def _expect_empty(self, va: VA, leaf_table: int) -> None:
        table = self.frames.ram.bytes[leaf_table << 3 : leaf_table + ENTRIES << 3]
        if not ZERO_PAGE.startswith(table):
            slot, _ = self.entries(leaf_table)[0]
            panic(f"freewalk: {va + slot * PGSIZE:#x} is still mapped")

    def vmprint(self) -> str:
        """The valid leaves as text, one a line, as in the page-table lab."""
        lines = [f"page table {self.root:#x}"]
        for leaf in self.leaves():
            where = "/".join(str(px(level, leaf.va)) for level in (2, 1, 0))
            lines.append(f" {leaf.va:#012x} [{where}] -> {pte2pa(leaf.pte):#x} {flags_text(leaf.pte)}")
        return "\n".join(lines)
