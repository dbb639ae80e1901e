"""How many pages a decode adds to smolprobe's lazily mapped KV cache, from sizes alone.

K and V are one reservation each, float32 [layers][positions][kv_dim], one right after the other. What
lies before K is mapped already, up to the last byte; nothing behind it is.
"""

from dataclasses import dataclass

PAGE = 4096
PAGES_PER_TABLE = 512


@dataclass(frozen=True)
class Cache:
    """``arrays`` arrays, a K and a V for each layer, of ``array_bytes`` bytes each, a whole number of pages.
    A position takes ``position_bytes`` of each."""

    arrays: int
    array_bytes: int
    position_bytes: int

    @property
    def pages(self) -> int:
        """Of the whole reservation, wherever in its first page it starts."""
        return self.arrays * self.array_bytes // PAGE


SMOLLM2_135M = Cache(arrays=2 * 30, array_bytes=256 * 3 * 64 * 4, position_bytes=3 * 64 * 4)


def new_pages(cache: Cache, offset: int, steps: int) -> int:
    """Pages that ``steps`` positions map when K starts ``offset`` bytes into a page.

    Since arrays are whole pages long, each starts at ``offset`` in its page, and reaches into
    ceil((offset + steps * position_bytes) / PAGE) pages. One of all these is not new: K's first, when
    something lies before it in its page. As long as no array reaches into the page in which the next one
    starts, none is counted twice; after that, each that does shares one page with its successor.
    """
    end = offset + steps * cache.position_bytes
    shared = cache.arrays - 1 if end > cache.array_bytes else 0
    return cache.arrays * ceil_div(end, PAGE) - shared - (1 if offset > 0 else 0)


def new_tables(cache: Cache, offset: int, first_page: int, steps: int) -> int:
    """Page tables that those pages need, K's first page being the process's ``first_page``-th.

    A table maps 512 pages. The one that maps the page before K is there.
    """
    there = {(first_page - (offset == 0)) // PAGES_PER_TABLE}
    return len({page // PAGES_PER_TABLE for page in touched(cache, offset, first_page, steps)} - there)


def touched(cache: Cache, offset: int, first_page: int, steps: int) -> set[int]:
    """The pages that the decode writes to, one by one."""
    pages = set()
    for array in range(cache.arrays):
        start = offset + array * cache.array_bytes
        last = start + steps * cache.position_bytes - 1
        pages |= {first_page + at for at in range(start // PAGE, last // PAGE + 1)}
    return pages


def ceil_div(a: int, b: int) -> int:
    """The smallest integer that is not below a / b."""
    return -(-a // b)
