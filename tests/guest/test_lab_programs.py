"""The lab's own test programs, and the package's demonstrations, under all four switch settings.

ABI.md section 9 says what NexOS's programs print and how many faults they take. Ours print the same and
take the same numbers of faults: they touch the same pages.
"""

import re

import pytest
from support import MIB

from nexemu.events import BadAccess, Fork, PageFault

RAM = 128 * MIB
LAZYTEST = (
    ("Proof of laziness (Oversubscribe physical memory)", "lazy proof (oversubscription)"),
    ("Basic sbrk + write/read", "basic sbrk + write/read"),
    ("Large allocation (multi-page)", "large multi-page allocation"),
    ("Non-sequential page access", "non-sequential page access"),
    ("Shrink with negative sbrk", "shrink with negative sbrk"),
    ("Fork inherits lazy-allocated memory", "fork inherits lazy pages"),
    ("sbrk(0) returns current break", "sbrk(0) returns current break"),
    ("Guard page fault kills child without panicking kernel", "guard page fault handled as kill"),
    ("Text write fault kills child without panicking kernel", "text write protection fault handled as kill"),
    ("Lazy sbrk stops at TRAPFRAME boundary", "lazy sbrk rejects growth past TRAPFRAME"),
)


def banner(text, width):
    return f"\n{'=' * width}\n  {text}\n{'=' * width}\n\n"


def closing(text, width):
    return f"\n{'=' * width}\n  {text}\n{'=' * width}\n"


def verdicts(run):
    return re.findall(r"\[(PASS|FAIL)\]", run.text)


def user_faults(run, kind):
    return sum(event.kind == kind and event.by == "user" for event in run.events.of(PageFault))


# ---- lazytest ---------------------------------------------------------------------------------


@pytest.mark.parametrize("cow", [False, True])
def test_lazytest_passes_with_25_lazy_faults_and_two_children_killed(machine, cow):
    run = machine.run("lazytest", memory=RAM, lazy=True, cow=cow)
    tests = "".join(
        f"Test {number}: {title}\n  [PASS] {passed}\n"
        for number, (title, passed) in enumerate(LAZYTEST, start=1)
    )
    assert run.text == banner("Lazy Allocation Test Suite", 40) + tests + closing("All tests passed!", 40)
    assert run.status == 0
    assert user_faults(run, "lazy") == 25
    assert len(run.events.of(BadAccess)) == len(run.log) == 2


@pytest.mark.parametrize("cow", [False, True])
def test_lazytest_fails_at_once_with_lazy_allocation_off(machine, cow):
    run = machine.run("lazytest", memory=RAM, lazy=False, cow=cow)
    assert run.text == (
        banner("Lazy Allocation Test Suite", 40)
        + f"Test 1: {LAZYTEST[0][0]}\n"
        + "  [FAIL] Eager allocation detected! sbrk failed on 256MB request.\n"
    )
    assert run.status == 1
    assert user_faults(run, "lazy") == 0


# ---- cowtest ----------------------------------------------------------------------------------


@pytest.mark.parametrize("lazy", [False, True])
def test_cowtest_passes_all_twelve(machine, lazy):
    run = machine.run("cowtest", memory=RAM, lazy=lazy, cow=True)
    assert verdicts(run) == ["PASS"] * 12
    assert run.text.startswith(banner("Copy-on-Write (COW) Test Suite", 40))
    assert run.text.endswith(closing("All COW tests passed!", 40))
    assert (run.status, run.log) == (0, [])
    assert user_faults(run, "lazy") == (90_137 if lazy else 0)
    assert not any(fork.pages_copied for fork in run.events.of(Fork))


@pytest.mark.parametrize("lazy", [False, True])
def test_cowtest_stops_at_test_7_with_copy_on_write_off(machine, lazy):
    run = machine.run("cowtest", memory=RAM, lazy=lazy, cow=False)
    assert verdicts(run) == ["PASS"] * 6 + ["FAIL"]
    assert run.text.endswith("  [FAIL] fork failed under pressure; implementation looks like deep copy\n")
    assert run.status == 1
    assert user_faults(run, "cow-copy") == user_faults(run, "cow-reuse") == 0


# ---- mmaptest, crash, forktest ----------------------------------------------------------------


def test_mmaptest_passes_with_all_settings(machine, switches):
    run = machine.run("mmaptest", memory=RAM, **switches)
    assert verdicts(run) == ["PASS"] * 3
    assert run.text.startswith(banner("mmap Test Suite", 30) + "Test 1: anonymous private mmap\n")
    assert run.text.endswith(closing("All mmap tests passed", 30))
    assert (run.status, run.log) == (0, [])


def test_crash_is_killed_silently_on_the_console_and_explained_to_the_host(machine, switches):
    run = machine.run("crash", **switches)
    assert run.text == "crash: attempting out-of-bounds access..."
    assert run.status == -1
    (event,) = run.events.of(BadAccess)
    assert (event.name, event.cause, event.stval) == ("crash", 13, 0xDEADBEEF)
    (line,) = run.log
    assert line.startswith(
        f"pid {event.pid} crash: killed by load page fault (scause 13) sepc={event.sepc:#x}"
    )


def test_forktest_reports_the_slots_that_are_left(machine, switches):
    """ABI.md section 3: 16 slots less two workers, init, the shell (or what stands for it) and itself."""
    run = machine.run("forktest", **switches)
    assert run.text == "forktest: 11 children, all reaped\n"
    assert run.status == 0


# ---- the demonstrations -----------------------------------------------------------------------


def test_lazydemo_counts_what_each_step_maps(machine, switches):
    run = machine.run("lazydemo", "100", "30", **switches)
    at_sbrk = 0 if switches["lazy"] else 100
    touched = 30 if switches["lazy"] else 100
    lines = run.text.splitlines()
    numbers = [dict(re.findall(r"(\w+)=(\d+)", line)) for line in lines]
    assert [row.get("mapped_pages") for row in numbers[1:5]] == [
        str(at_sbrk),
        str(max(at_sbrk, 1)),
        str(touched),
        "0",
    ]
    assert [row.get("virtual_pages") for row in numbers[1:5]] == ["100", "100", "100", "0"]
    style = "LAZY" if switches["lazy"] else "EAGER"
    assert f"verdict={style}_STYLE" in lines[-1]
    assert run.status == 0


def test_cowdemo_counts_what_fork_and_the_writes_copy(machine, switches):
    run = machine.run("cowdemo", "100", "30", **switches)
    cow = switches["cow"]
    lines = run.text.splitlines()
    assert lines[1].split()[2:] == (
        ["shared_pages=100", "copied_pages=0"] if cow else ["shared_pages=0", "copied_pages=100"]
    )
    assert lines[2].split()[2:] == (
        ["shared_pages=70", "copied_pages=30"] if cow else ["shared_pages=0", "copied_pages=100"]
    )
    assert f"verdict={'COW' if cow else 'COPY'}_STYLE" in lines[-1]
    assert run.status == 0


@pytest.mark.parametrize(
    ("program", "usage"),
    [
        ("lazydemo", "[RESERVE [TOUCH]]"),
        ("cowdemo", "[PAGES [WRITE]]"),
        ("thrash", "[PAGES [ROUNDS]]"),
        ("workingset", "[PAGES [SET [PHASES]]]"),
        ("hog", "[THOUSANDS [NAME]]"),
        ("interactive", "[BURSTS [THOUSANDS]]"),
        ("convoy", "[UNIT]"),
    ],
)
def test_programs_say_what_is_wrong_with_their_arguments(machine, program, usage):
    lines = f"usage: {program} {usage}\n"
    run = machine.run(program, *"1234")
    assert (run.status, run.text) == (1, lines)
    first = re.search(r"\w+", usage)[0]
    for word in ("0", "-1", "x", "12abc", "4294967297", ""):
        run = machine.run(program, word)
        assert run.status == 1
        assert re.fullmatch(rf"{first} must be 1 to \d+, not {word}\n{re.escape(lines)}", run.text)


@pytest.mark.parametrize(
    ("program", "second"), [("lazydemo", "TOUCH"), ("cowdemo", "WRITE"), ("workingset", "SET")]
)
def test_no_more_pages_are_used_than_there_are(machine, program, second):
    assert machine.run(program, "5", "6").text.startswith(f"{second} must be 1 to 5, not 6\n")


def test_memhog_gets_what_it_asks_for_or_says_how_far_it_came(machine, switches):
    assert machine.run("memhog", "100", **switches).text == "memhog: got all 100 pages (400 KiB)\n"
    run = machine.run("memhog", memory=8 * MIB, **switches)
    free = run.kernel.frames.free_frames
    assert run.status == 1
    pages = int(re.search(r"(\d+) pages", run.text)[1])
    assert free - 100 < pages <= free
    if switches["lazy"]:
        assert run.text.startswith("memhog: killed after at least")
        assert [event.name for event in run.events.of(BadAccess)] == ["memhog"]
    else:
        assert run.text.startswith("memhog: sbrk refused after")
        assert run.log == []


def test_free_adds_up(machine, switches):
    run = machine.run("free", memory=8 * MIB, **switches)
    rows = {line.split()[0]: line.split()[1:] for line in run.text.splitlines()[1:]}
    total, used, free = (int(rows[name][0]) for name in ("total", "used", "free"))
    assert total == used + free == 8 * MIB // 4096 - 256
    assert [int(rows[name][1]) for name in rows] == [4 * total, 4 * used, 4 * free]


def test_ps_lists_itself_running_below_its_parents(machine, switches):
    run = machine.run("ps", **switches)
    rows = [line.split() for line in run.text.splitlines()[1:]]
    assert [(row[0], row[1], row[2], row[5]) for row in rows] == [
        ("3", "0", "sleeping", "init"),
        ("4", "3", "sleeping", "init"),
        ("5", "4", "running", "ps"),
    ]
    assert all(int(row[4]) == int(row[3]) + 1 for row in rows), "mapped pages and the guard page"
