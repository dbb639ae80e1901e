"""Which pages of the KV cache samples and beams share, copy and add, from sizes alone.

The cache begins on a page of its own, and K ``offset`` bytes into that page; K and V are one reservation
each, float32 [layers][positions][kv_dim], as in :mod:`smolprobe_formula`. Pages are numbered from 0.
"""

from dataclasses import dataclass

from smolprobe_formula import PAGE, Cache, ceil_div


def pages_of(cache: Cache, offset: int, first: int, last: int) -> set[int]:
    """The pages that hold a byte of positions ``first`` up to ``last`` - 1, one by one."""
    pages = set()
    for array in range(cache.arrays) if first < last else ():
        start = offset + array * cache.array_bytes
        begin, end = start + first * cache.position_bytes, start + last * cache.position_bytes
        pages |= set(range(begin // PAGE, ceil_div(end, PAGE)))
    return pages


def all_pages(cache: Cache, offset: int) -> set[int]:
    """What a kernel maps that maps at once."""
    return set(range(ceil_div(offset + cache.arrays * cache.array_bytes, PAGE)))


@dataclass(frozen=True)
class Share:
    """Of one process that shares the first positions with others: the pages that were there before, those
    of them that it writes to, and those that it adds."""

    shared: set[int]
    written: set[int]
    fresh: set[int]


def share(cache: Cache, offset: int, shared: int, end: int, lazy: bool = True) -> Share:
    """``shared`` positions are everybody's, those up to ``end`` - 1 are the process's own."""
    before = pages_of(cache, offset, 0, shared) if lazy else all_pages(cache, offset)
    writes = pages_of(cache, offset, shared, end)
    return Share(before, writes & before, writes - before)


def fits(cache: Cache, offset: int, prompt: int, generate: int) -> bool:
    """No array reaches into the page in which the next one begins: where the formulas below hold."""
    return offset + (prompt + generate - 1) * cache.position_bytes <= cache.array_bytes


def copied_pages(
    cache: Cache, offset: int, prompt: int, generate: int, samples: int, keep: bool = False
) -> int:
    """Pages that ``samples`` samples copy: in each array the one that the prompt has partly filled. Of those
    who hold it, the last to write writes in place; the parent never writes, and holds it if ``keep``."""
    end = offset + prompt * cache.position_bytes
    partly_filled = cache.arrays if generate > 1 and end % PAGE else 0
    return partly_filled * (samples if keep else samples - 1)


def new_pages(cache: Cache, offset: int, prompt: int, generate: int, samples: int) -> int:
    """Pages that they add. The last token of each is not taken in."""
    end = offset + prompt * cache.position_bytes
    last = end + (generate - 1) * cache.position_bytes
    return samples * cache.arrays * (ceil_div(last, PAGE) - ceil_div(end, PAGE))


def full_copy_pages(cache: Cache, offset: int, prompt: int, samples: int) -> int:
    """What a copy of the prompt's cache for each sample takes."""
    return samples * cache.arrays * ceil_div(offset + prompt * cache.position_bytes, PAGE)
