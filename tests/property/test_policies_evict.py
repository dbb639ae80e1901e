"""Every replacement policy against its naive twin, and against what no policy may do.

A twin is one function: it is told the whole past of a memory that is full, and says who leaves.
"""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nexemu.dice import Dice
from nexemu.evict import POLICIES, Setup
from nexemu.evict.replay import Bare, replay
from nexemu.evict.stack_distance import lru_misses, stack_distances

traces = st.lists(st.integers(0, 8), min_size=1, max_size=60)
sizes = st.integers(1, 6)
examples = settings(deadline=None, max_examples=100)


# ---- twins ------------------------------------------------------------------------------------
# ``past`` is the trace up to the miss, ``came`` the position at which each page that is in came.


def fifo(past, came, trace):
    return min(came, key=came.get)


def lru(past, came, trace):
    return min(came, key=lambda page: max(i for i, used in enumerate(past) if used == page))


def lfu(past, came, trace):
    def uses(page):
        return [i for i, used in enumerate(past) if used == page and i >= came[page]]

    return min(came, key=lambda page: (len(uses(page)), uses(page)[-1]))


def opt(past, came, trace):
    def next_use(page):
        rest = trace[len(past) :]
        return rest.index(page) if page in rest else len(trace)

    return {page for page in came if next_use(page) == max(map(next_use, came))}


TWINS = {"fifo": fifo, "lru": lru, "lfu": lfu, "opt": opt}


def miss_sequence(trace, frames, twin):
    """For each reference whether it misses, where ``twin`` decides. OPT's twin may leave it open who of
    several leaves; whoever does, as many misses follow, so the first is taken."""
    came, missed = {}, []
    for now, page in enumerate(trace):
        missed.append(page not in came)
        if page not in came:
            if len(came) == frames:
                leaves = twin(trace[:now], came, trace)
                came.pop(min(leaves) if isinstance(leaves, set) else leaves)
            came[page] = now
    return missed


def misses(name, trace, frames, seed=0):
    return replay(trace, POLICIES[name](Setup(frames, trace, seed)), frames).misses


def driven(policy, trace, frames, period):
    """Replay ``trace`` as the kernel would, with a tick every ``period`` references; who left, in order."""
    inside, left, memory = set(), [], Bare()
    for now, page in enumerate(trace):
        if page in inside:
            policy.touch(page)
        else:
            if len(inside) == frames:
                left.append(policy.victim(page, memory))
                inside.remove(left[-1])
            inside.add(page)
            policy.admit(page)
        if now % period == period - 1:
            policy.tick(memory)
    return left


@pytest.mark.parametrize("name", TWINS)
@examples
@given(trace=traces, frames=sizes)
def test_a_policy_agrees_with_its_twin(name, trace, frames):
    assert misses(name, trace, frames) == sum(miss_sequence(trace, frames, TWINS[name]))


class RingTwin:
    """CLOCK as it is drawn: slots in a circle, a bit in each, and a hand."""

    def __init__(self, frames):
        self.slots, self.bits, self.hand = [None] * frames, [False] * frames, 0

    def refer(self, page):
        """Who leaves, or None."""
        if page in self.slots:
            self.bits[self.slots.index(page)] = True
            return None
        if None in self.slots:
            self.slots[self.slots.index(None)] = page
            return None
        self.find()
        leaves, self.slots[self.hand] = self.slots[self.hand], page
        self.bits[self.hand] = False
        self.hand = (self.hand + 1) % len(self.slots)
        return leaves

    def find(self):
        while self.bits[self.hand]:
            self.bits[self.hand] = False
            self.hand = (self.hand + 1) % len(self.slots)


class SecondChanceTwin(RingTwin):
    """Nothing is dirty here: bits are cleared only when all are set."""

    def find(self):
        if all(self.bits):
            self.bits = [False] * len(self.bits)
        while self.bits[self.hand]:
            self.hand = (self.hand + 1) % len(self.slots)


class AgeingTwin:
    """Ages as fractions that halve, from the whole history of ticks."""

    PERIOD = 3

    def __init__(self, frames):
        self.frames, self.came, self.used, self.ticks = frames, {}, {}, 0
        self.now = 0

    def refer(self, page):
        leaves = None
        if page not in self.came:
            if len(self.came) == self.frames:
                leaves = min(self.came, key=self.rank)
                del self.came[leaves], self.used[leaves]
            self.came[page] = self.now
            self.used[page] = set()
        self.used[page].add(self.now // self.PERIOD)
        self.now += 1
        return leaves

    def rank(self, page):
        """Uses in the current period, then in each of the eight before it."""
        periods = range(self.now // self.PERIOD, self.now // self.PERIOD - 9, -1)
        return [period in self.used[page] for period in periods], self.came[page]


class ArcTwin:
    """Figure 4 of the paper, on four lists whose ends are the most recently used."""

    def __init__(self, frames):
        self.c, self.p = frames, 0
        self.t1, self.t2, self.b1, self.b2 = [], [], [], []

    def refer(self, x):
        t1, t2, b1, b2, c = self.t1, self.t2, self.b1, self.b2, self.c
        left = None
        if x in t1 or x in t2:
            (t1 if x in t1 else t2).remove(x)
            t2.append(x)
        elif x in b1:
            self.p = min(c, self.p + (1 if len(b1) >= len(b2) else len(b2) / len(b1)))
            left = self.replace(x)
            b1.remove(x)
            t2.append(x)
        elif x in b2:
            self.p = max(0, self.p - (1 if len(b2) >= len(b1) else len(b1) / len(b2)))
            left = self.replace(x)
            b2.remove(x)
            t2.append(x)
        else:
            if len(t1) + len(b1) == c:
                if len(t1) < c:
                    b1.pop(0)
                    left = self.replace(x)
                else:
                    left = t1.pop(0)
            elif len(t1) + len(t2) + len(b1) + len(b2) >= c:
                if len(t1) + len(t2) + len(b1) + len(b2) == 2 * c:
                    b2.pop(0)
                left = self.replace(x)
            t1.append(x)
        return left

    def replace(self, x):
        if self.t1 and (len(self.t1) > self.p or (x in self.b2 and len(self.t1) == self.p)):
            self.b1.append(self.t1.pop(0))
            return self.b1[-1]
        self.b2.append(self.t2.pop(0))
        return self.b2[-1]


class RandomTwin:
    def __init__(self, frames):
        self.frames, self.dice, self.pages = frames, Dice(0), []

    def refer(self, page):
        if page in self.pages:
            return None
        if len(self.pages) < self.frames:
            self.pages.append(page)
            return None
        place = self.dice.roll(self.frames)
        leaves, self.pages[place] = self.pages[place], self.pages[-1]
        self.pages[-1] = page
        return leaves


MACHINES = {
    "clock": RingTwin,
    "second-chance": SecondChanceTwin,
    "ageing": AgeingTwin,
    "arc": ArcTwin,
    "random": RandomTwin,
}


def test_every_policy_has_a_twin():
    assert {*TWINS, *MACHINES} == set(POLICIES)


@pytest.mark.parametrize("name", MACHINES)
@examples
@given(trace=traces, frames=sizes)
def test_a_policy_gives_up_the_same_pages_as_its_twin(name, trace, frames):
    twin = MACHINES[name](frames)
    expected = [leaves for page in trace if (leaves := twin.refer(page)) is not None]
    assert driven(POLICIES[name](Setup(frames)), trace, frames, AgeingTwin.PERIOD) == expected


@pytest.mark.parametrize("name", MACHINES)
def test_they_agree_on_a_long_trace_too(name):
    """Ghost lists of many lengths, and a hand that has gone round often: popular pages, among them scans."""
    dice, frames = Dice(5), 20
    trace = [dice.roll(1 + dice.roll(80)) if i % 400 < 300 else 1_000 + i for i in range(4_000)]
    twin = MACHINES[name](frames)
    expected = [leaves for page in trace if (leaves := twin.refer(page)) is not None]
    assert driven(POLICIES[name](Setup(frames)), trace, frames, AgeingTwin.PERIOD) == expected


# ---- what holds for all -----------------------------------------------------------------------


@pytest.mark.parametrize("name", POLICIES)
@examples
@given(trace=traces, frames=sizes, seed=st.integers(0, 5))
def test_no_policy_beats_opt(name, trace, frames, seed):
    assert misses(name, trace, frames, seed) >= misses("opt", trace, frames)


@pytest.mark.parametrize("name", POLICIES)
@examples
@given(trace=traces, frames=sizes)
def test_every_page_misses_at_least_once_and_only_once_if_all_fit(name, trace, frames):
    pages = len(Counter(trace))
    assert misses(name, trace, frames) >= pages
    assert misses(name, trace, pages) == pages


@pytest.mark.parametrize("name", ["lru", "opt"])
@examples
@given(trace=traces, frames=sizes)
def test_more_frames_never_hurt_a_stack_policy(name, trace, frames):
    assert misses(name, trace, frames + 1) <= misses(name, trace, frames)


@examples
@given(trace=traces)
def test_lrus_curve_is_a_simulation_at_every_size(trace):
    assert lru_misses(trace, 10)[1:] == [misses("lru", trace, frames) for frames in range(1, 11)]


@examples
@given(trace=traces)
def test_a_stack_distance_counts_the_pages_since_the_last_use(trace):
    for now, distance in enumerate(stack_distances(trace)):
        before = [i for i in range(now) if trace[i] == trace[now]]
        assert distance == (len(set(trace[before[-1] : now])) if before else 0)
