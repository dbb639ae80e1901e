"""FLOP-aware eviction: what is cheap to compute again leaves first, not only what was used long ago.

Blocks of equal size do not save equal work: attention makes a token the dearer the more tokens come
before it. So each entry is rated by how recently it was used and by the work that each of its tokens
saves, and the lowest rating leaves. Nothing is stored by rating, since every use changes all of them.

Pan et al., "Marconi" (2025), section 4.2: recency + alpha * FLOP efficiency, both scaled to 0..1
"""

from collections import OrderedDict
from collections.abc import Callable

from nexemu.policy import Evictor, Pages


class FlopAware(Evictor):
    """``worth`` says what work one token of an entry saves, in any unit; ``alpha`` is what that counts
    against recency. With 0 this is LRU.

    >>> from nexemu.policy import Pages
    >>> class Free(Pages):
    ...     pass
    >>> policy = FlopAware({1: 1.5, 2: 1.0, 3: 1.1}.__getitem__, alpha=2.0)
    >>> for entry in (1, 2, 3):
    ...     policy.admit(entry)
    >>> [policy.victim(4, Free()) for _ in range(3)]
    [2, 3, 1]
    """

    __slots__ = ("_alpha", "_queue", "_worth")

    def __init__(self, worth: Callable[[int], float], alpha: float = 1.0) -> None:
        self._worth = worth
        self._alpha = alpha
        self._queue: OrderedDict[int, None] = OrderedDict()  # the least recently used first

    def touch(self, page: int) -> None:
        self._queue.move_to_end(page)

    def admit(self, page: int) -> None:
        self._queue[page] = None

    def victim(self, incoming: int, pages: Pages) -> int | None:
        candidates = [page for page in self._queue if not pages.pinned(page)]
        if not candidates:
            return None
        worth = [self._worth(page) for page in candidates]
        least, spread = min(worth), max(worth) - min(worth) or 1.0
        ratings = [
            recency / len(candidates) + self._alpha * (value - least) / spread
            for recency, value in enumerate(worth)
        ]
        chosen = candidates[ratings.index(min(ratings))]
        del self._queue[chosen]
        return chosen

    def remove(self, page: int) -> None:
        self._queue.pop(page, None)
