"""Requests for memory that come, stay and go; and what an allocator makes of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Final

import numpy as np

from nexemu.lab.paging.allocators import Allocator

CAPACITY: Final = 20_000
MEAN_SIZE: Final = 50
LIMIT: Final = 400
SIGMA: Final = 1.0
LOAD: Final = 0.9
REQUESTS: Final = 10_000


@dataclass(frozen=True, slots=True)
class Request:
    """``size`` units from ``arrival`` to ``departure``."""

    arrival: float
    departure: float
    size: int


def requests(seed: int, count: int = REQUESTS) -> list[Request]:
    """Log-normal sizes of mean 50, none above 400. All together they would fill 90 % of the memory on
    average; how long one stays is exponential, of mean 1."""
    rng = np.random.default_rng(seed)
    sizes = rng.lognormal(np.log(MEAN_SIZE) - SIGMA**2 / 2, SIGMA, count)
    sizes = np.clip(np.rint(sizes), 1, LIMIT).astype(int)
    arrivals = np.cumsum(rng.exponential(float(sizes.mean()) / (LOAD * CAPACITY), count))
    stays = rng.exponential(1, count)
    rows = zip(arrivals.tolist(), (arrivals + stays).tolist(), sizes.tolist(), strict=True)
    return [Request(*row) for row in rows]


@dataclass(frozen=True, slots=True)
class Service:
    """In per cent: requests that were refused; that were refused though as much was free as they asked
    for; memory that stored something; memory that was held and stored nothing."""

    refused: float
    refused_in_spite: float
    stored: float
    wasted: float


def serve(queue: Sequence[Request], allocator: Allocator) -> Service:
    """Offer each request once; what is refused goes away. Memory is averaged over time."""
    meter = _Meter(allocator)
    leaving: list[tuple[float, int]] = []
    refused = in_spite = 0
    for number, request in enumerate(queue):
        while leaving and leaving[0][0] <= request.arrival:
            moment, holder = heappop(leaving)
            meter.pass_until(moment)
            allocator.release(holder)
            meter.stored -= queue[holder].size
        meter.pass_until(request.arrival)
        if allocator.allocate(number, request.size):
            heappush(leaving, (request.departure, number))
            meter.stored += request.size
        else:
            refused += 1
            in_spite += allocator.free >= request.size
    return Service(100 * refused / len(queue), 100 * in_spite / len(queue), *meter.shares())


class _Meter:
    """Areas under two curves over time: units that store something, and held ones that do not."""

    def __init__(self, allocator: Allocator) -> None:
        self.stored = 0
        self._allocator = allocator
        self._capacity = allocator.free
        self._now = 0.0
        self._stored_area = 0.0
        self._wasted_area = 0.0

    def pass_until(self, moment: float) -> None:
        elapsed = moment - self._now
        self._now = moment
        self._stored_area += elapsed * self.stored
        self._wasted_area += elapsed * (self._capacity - self._allocator.free - self.stored)

    def shares(self) -> tuple[float, float]:
        """Of the memory, in per cent."""
        whole = self._now * self._capacity
        return 100 * self._stored_area / whole, 100 * self._wasted_area / whole
