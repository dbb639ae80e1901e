"""Random programs on a whole machine, with forks that run side by side, against a model in Python.

What the property tests of memory cannot see is under test here: what the hart caches, what a context
switch leaves behind, and what the kernel does between two instructions.
"""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import MIB, SWITCH_IDS, SWITCHES, finish

from nexemu import abi
from nexemu.riscv import PGSIZE

PATTERN = bytes(number * 7 % 256 for number in range(9000))
MOST = 40 * PGSIZE
MOST_FORKS = 3

WHERE = st.one_of(st.integers(0, 3 * PGSIZE), st.integers(0, MOST), st.sampled_from([0, 4095, 4096, 8191]))
STEPS = st.one_of(
    st.tuples(
        st.just("g"), st.one_of(st.integers(-3 * PGSIZE, 5 * PGSIZE), st.integers(-MOST, MOST)), st.just(0)
    ),
    st.tuples(st.just("s"), WHERE, st.integers(0, 255)),
    st.tuples(st.just("l"), WHERE, st.just(0)),
    st.tuples(st.just("r"), WHERE, st.integers(0, len(PATTERN))),
    st.tuples(st.just("w"), WHERE, st.integers(0, 512)),
    st.tuples(st.sampled_from("fyy"), st.just(0), st.just(0)),
)
SMALL = st.integers(1, 2 * PGSIZE)


def regrow(n, at):
    """A page that was used goes and comes back."""
    return [
        ("g", 3 * PGSIZE, 0),
        ("s", at, 99),
        ("g", -n, 0),
        ("g", n, 0),
        ("l", at, 0),
        ("s", at, 98),
        ("l", at, 0),
    ]


def share(at, n):
    """A page that was used is shared, and then touched by the program and by the kernel."""
    return [
        ("s", at, 97),
        ("l", at, 0),
        ("f", 0, 0),
        ("l", at, 0),
        ("r", at, n),
        ("l", at, 0),
        ("y", 0, 0),
        ("s", at, 96),
    ]


PIECES = st.one_of(
    st.lists(STEPS, max_size=8), st.builds(regrow, SMALL, SMALL), st.builds(share, SMALL, SMALL)
)


def programs(pieces):
    """Programs of up to ``pieces`` pieces: single steps, or several that belong together."""
    return st.lists(PIECES, max_size=pieces).map(lambda lists: [step for piece in lists for step in piece])


def possible(steps):
    """Those of ``steps`` that a program may do: the break stays where the heap is, addresses below it."""
    size = forks = 0
    for what, a, b in steps:
        if what == "g" and 0 <= size + a <= MOST:
            size += a
        elif what == "f" and forks < MOST_FORKS:
            forks += 1
        elif what == "y" or (what in "sl" and a < size) or (what in "rw" and a + b <= size):
            pass
        else:
            continue
        yield what, a, b


class Model:
    """One process: the bytes of its heap's pages, the break, and what it has seen."""

    def __init__(self, path="", pages=b"", size=0, seen=b""):
        self.path, self.pages, self.size, self.seen = path, bytearray(pages), size, bytearray(seen)

    def run(self, steps, done):
        """Carry out ``steps``; the lines of this process and of all its children go to ``done``."""
        for number, (what, a, b) in enumerate(steps):
            if what == "f":
                Model(self.path + "c", self.pages, self.size, self.seen).run(steps[number + 1 :], done)
                self.path += "p"
            elif what != "y":
                self.step(what, a, b)
        done.append(f"{self.path}:{self.seen.hex()}")

    def step(self, what, a, b):
        if what == "g":
            self.grow(a)
        elif what == "s":
            self.pages[a] = b
        elif what == "l":
            self.seen.append(self.pages[a])
        elif what == "r":
            self.pages[a : a + b] = PATTERN[:b]
            self.seen.append(1)
        elif what == "w":
            self.seen += bytes([1, 1, 1, checksum(self.pages[a : a + b])])

    def grow(self, n):
        """Pages come as zeros and go whole; what is left of a page keeps its bytes."""
        self.size += n
        whole = -(-self.size // PGSIZE) * PGSIZE
        self.pages = self.pages[:whole] + bytes(max(0, whole - len(self.pages)))
        self.seen.append(1)


def checksum(data):
    total = 0
    for byte in data:
        total = (total * 31 + byte) % 256
    return total


def put(fs, path, content):
    fs.writei(fs.create(path, abi.T_FILE, fs.root), 0, content)


def replay(machine, steps, **how):
    run = machine.build(memory=16 * MIB, **how)
    put(run.kernel.fs, b"/pattern", PATTERN)
    put(run.kernel.fs, b"/steps", "".join(f"{what} {a} {b}\n" for what, a, b in steps).encode())
    run.kernel.boot([b"init", b"--", b"replay"], machine.init)
    finish(run)
    return run


def agree(machine, steps, **how):
    steps = list(possible(steps))
    expected = []
    Model().run(steps, expected)
    run = replay(machine, steps, **how)
    assert (sorted(run.text.splitlines()), run.status, run.log) == (sorted(expected), 0, [])


QUANTA = st.sampled_from([50, 300, 5000, 100_000])
PATIENT = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]


@pytest.mark.parametrize(("lazy", "cow"), SWITCHES, ids=SWITCH_IDS)
@settings(max_examples=20, deadline=None, suppress_health_check=PATIENT)
@given(steps=programs(8), quantum=QUANTA)
def test_programs_see_what_the_model_says(machine, lazy, cow, steps, quantum):
    agree(machine, steps, lazy=lazy, cow=cow, quantum=quantum)


@pytest.mark.slow
@pytest.mark.parametrize(("lazy", "cow"), SWITCHES, ids=SWITCH_IDS)
@settings(max_examples=50, deadline=None, suppress_health_check=PATIENT)
@given(steps=programs(25), quantum=QUANTA)
def test_long_programs_see_what_the_model_says(machine, lazy, cow, steps, quantum):
    agree(machine, steps, lazy=lazy, cow=cow, quantum=quantum, audit=True)


def test_the_same_program_gives_the_same_events_twice(machine, switches):
    steps = [
        ("g", 20 * PGSIZE, 0),
        ("r", 100, 9000),
        ("f", 0, 0),
        ("s", 4096, 7),
        ("f", 0, 0),
        ("w", 4000, 300),
    ]
    runs = [replay(machine, steps, quantum=77, **switches) for _ in range(2)]
    assert runs[0].events.events == runs[1].events.events
    assert runs[0].text == runs[1].text
