"""Miss counts that are in every textbook."""

import numpy as np
import pytest

from nexemu.evict import POLICIES, Setup
from nexemu.evict.fifo import Fifo
from nexemu.evict.replay import replay
from nexemu.evict.second_chance import SecondChance
from nexemu.evict.stack_distance import lru_misses, stack_distances

BELADY = [1, 2, 3, 4, 1, 2, 5, 1, 2, 3, 4, 5]
TEXTBOOK = [7, 0, 1, 2, 0, 3, 0, 4, 2, 3, 0, 3, 2, 1, 2, 0, 1, 7, 0, 1]  # Silberschatz, Galvin and Gagne


def misses(name, trace, frames):
    return replay(trace, POLICIES[name](Setup(frames, trace)), frames).misses


@pytest.mark.parametrize(("name", "three", "four"), [("fifo", 9, 10), ("lru", 10, 8), ("opt", 7, 6)])
def test_beladys_sequence(name, three, four):
    assert (misses(name, BELADY, 3), misses(name, BELADY, 4)) == (three, four)


@pytest.mark.parametrize(("name", "faults"), [("fifo", 15), ("lru", 12), ("opt", 9)])
def test_the_textbooks_string_of_20(name, faults):
    assert misses(name, TEXTBOOK, 3) == faults


@pytest.mark.parametrize("name", [name for name in POLICIES if name not in ("opt", "random")])
def test_a_loop_over_one_page_too_many_never_hits(name):
    assert misses(name, list(range(11)) * 20, 10) == 220


def test_opt_on_that_loop_misses_once_in_ten():
    """After the first 10 misses, one in each 10 references: Belady's policy keeps nine of the eleven."""
    assert misses("opt", list(range(11)) * 20, 10) == 10 + (220 - 10) // 10


@pytest.mark.parametrize("name", POLICIES)
def test_what_fits_misses_once(name):
    assert misses(name, list(range(10)) * 20, 10) == 10


def test_only_changed_pages_are_written():
    trace = [1, 2, 3, 4]
    outcome = replay(trace, Fifo(), frames=1, stores={1, 3})
    assert (outcome.misses, outcome.written) == (4, 1)  # 2 is written; 4 is dirty, and stays


def test_a_page_that_came_back_is_clean():
    assert replay([1, 2, 1, 2], Fifo(), frames=1, stores={0}).written == 1


def test_the_dirty_bit_saves_writes():
    rng = np.random.default_rng(1)
    trace = rng.integers(0, 40, 4_000).tolist()
    stores = {i for i, page in enumerate(trace) if page < 10}
    written = [
        replay(trace, policy, 20, stores).written for policy in (SecondChance(), POLICIES["clock"](Setup(20)))
    ]
    assert written[0] < written[1] / 2


# ---- hit rates --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def hit_rates():
    """30,000 references to 1,000 keys by Zipf's law with exponent 0.8, 100 of which fit; in per cent."""
    weights = np.arange(1, 1001) ** -0.8
    trace = np.random.default_rng(1).choice(1000, 30_000, p=weights / weights.sum()).tolist()
    return {name: 100 * replay(trace, POLICIES[name](Setup(100, trace)), 100).hit_rate for name in POLICIES}


@pytest.mark.parametrize(("name", "per_cent"), [("lru", 37.9), ("arc", 45.8), ("opt", 62.7)])
def test_zipf_hits_as_often_as_the_lecture_says(hit_rates, name, per_cent):
    assert hit_rates[name] == pytest.approx(per_cent, abs=1)


def test_zipf_orders_the_policies_as_the_lecture_says(hit_rates):
    assert hit_rates["fifo"] < hit_rates["lru"] < hit_rates["clock"] < hit_rates["arc"] < hit_rates["opt"]
    assert hit_rates["clock"] < hit_rates["lfu"] < hit_rates["opt"]


# ---- stack distances --------------------------------------------------------------------------


def test_stack_distances_by_hand():
    assert stack_distances([1, 1, 2, 3, 2, 1]) == [0, 1, 0, 0, 2, 3]


def test_the_curve_of_beladys_sequence():
    assert lru_misses(BELADY, 6) == [12, 12, 12, 10, 8, 5, 5]


def test_the_curve_is_a_simulation_at_every_size():
    trace = np.random.default_rng(2).integers(0, 30, 2_000).tolist()
    curve = lru_misses(trace, 32)
    assert curve[0] == 2_000
    assert [misses("lru", trace, frames) for frames in range(1, 33)] == curve[1:]
