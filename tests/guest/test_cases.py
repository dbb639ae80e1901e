"""Behaviours that kernels of this kind get wrong, each as a small guest program, with the right value.

The numbers in the names of the groups are those of the collection that these were taken from.
"""

import pytest
from support import MIB, SWITCH_IDS, SWITCHES, Machine, Segment, elf_file, finish, peek

from nexemu.events import BadAccess, Exit, Fork, PageFault, Syscall
from nexemu.fs.console import Key
from nexemu.riscv import PGSIZE


@pytest.fixture(params=[False, True], ids=["copy", "cow"])
def cow(request):
    return request.param


# ---- 1, 2: pages that the kernel touches first -------------------------------------------------


def test_read_into_and_write_from_untouched_pages(machine, switches):
    run = machine.run("kernelfill", audit=True, **switches)
    lazy = switches["lazy"]
    assert run.values() == {
        "read": 6000,
        "read_mapped": 2 * lazy,
        "before": 0,
        "within": 0,
        "after": 0,
        "written": 8192,
        "write_mapped": 2 * lazy,
        "back": 8192,
        "nonzero": 0,
        "into_nothing": -1,
        "from_nothing": -1,
    }
    assert run.faults("kernel").count("lazy") == 4 * lazy
    assert run.faults("user").count("lazy") == 0


def test_a_path_whose_nul_lies_on_an_untouched_page(machine, switches):
    run = machine.run("pathacross", audit=True, **switches)
    assert run.values() == {"fd": 3, "mapped": int(switches["lazy"]), "endless": -1, "in_kernel_half": -1}


# ---- 3: holes ---------------------------------------------------------------------------------


def test_holes_cost_nothing_in_parent_or_child(machine, cow):
    run = machine.run("holes", lazy=True, cow=cow, audit=True)
    got = run.values()
    touched = {(got["heap"] + page * PGSIZE) >> 21 for page in (0, 8191, 16383)}
    new_tables = len(touched - {0})
    child_tables = len(touched | {0, (got["heap"] + 5000 * PGSIZE) >> 21}) - 1  # fork has no table for 5000
    events = run.events.events
    (at,) = [n for n, event in enumerate(events) if isinstance(event, Fork) and event.parent == 5]
    told = next(n for n in range(at, len(events)) if getattr(events[n], "name", "") == "memstat")
    copies = [event for event in events[at:told] if getattr(event, "kind", "") == "cow-copy"]
    stack = sum(event.by == "user" for event in copies)
    fork = events[at]
    assert got["promised"] == 0
    assert (got["touched"], got["touched_used"]) == (3, 3 + new_tables)
    assert (got["child_reads"], got["child_mapped"], got["child_sees"]) == (0, 1, 3)
    assert got["fork_used"] == 4 + 1 + child_tables + fork.pages_copied + stack
    assert stack <= 1, "the page on which fork() itself returns"
    assert fork.pages_copied == 0 if cow else fork.pages_shared == 0
    assert (got["parent_mapped"], got["given_back"], got["left"]) == (3, 3, 0)


# ---- 4: bad addresses -------------------------------------------------------------------------


def test_each_bad_address_kills_one_child_and_costs_nothing(machine, switches):
    run = machine.run("badaddress", audit=True, **switches)
    lives = {"warm_up": 0, "last_byte": 0, "load_last_byte": 0, "load_null": 0}
    dies = [
        *("at_break", "load_at_break", "far", "below_stack", "load_below_stack", "null"),
        *("maxva_less_1", "maxva", "sign", "minus_1", "trampoline", "trapframe"),
    ]
    assert run.values() == lives | dict.fromkeys(dies, -1)
    assert len(run.log) == len(run.events.of(BadAccess)) == len(dies)
    top = run.events.of(BadAccess)[0].stval
    assert [event.stval for event in run.events.of(BadAccess)] == [
        *(top, top, top - PGSIZE + (1 << 32)),
        *(top - 2 * PGSIZE - 8, top - 2 * PGSIZE - 8, 0x33),
        *((1 << 38) - 1, 1 << 38, 1 << 63, (1 << 64) - 1, (1 << 38) - PGSIZE, (1 << 38) - 2 * PGSIZE),
    ]
    assert [event.cause for event in run.events.of(BadAccess)] == [
        15,
        13,
        13,
        15,
        13,
        15,
        13,
        13,
        15,
        13,
        13,
        15,
    ]


# ---- 5: the break -----------------------------------------------------------------------------


def test_sbrk_at_its_edges(machine, switches):
    run = machine.run("breaks", audit=True, **switches)
    assert run.values() == {
        "aligned": 0,
        "up": 0,
        "down": 100,
        "back": 0,
        "int_min": -1,
        "below_zero": -1,
        "still": 0,
        "grow": 0,
        "shrink": 2 * PGSIZE,
        "frames_back": 1,
        "mapped_back": 1,
        "regrow": PGSIZE,
        "first": 0,
        "second": 0,
        "less_one": 2 * PGSIZE,
        "more_one": 2 * PGSIZE - 1,
        "frames_moved": 0,
        "kept": 0,
        "inside": 2 * PGSIZE,
        "part": 0,
        "outside": PGSIZE - 10,
        "tail": 0,
    }


# ---- 6: text ----------------------------------------------------------------------------------


def test_text_cannot_be_written_before_after_and_beyond_a_fork(machine, switches):
    run = machine.run("textwrite", audit=True, **switches)
    assert run.values() == {
        "grandchild": -1,
        "child": -1,
        "read": -1,
        "stat": -1,
        "pipe": -1,
        "wait": -1,
        "changed": 0,
    }
    first = machine.run("textwrite", "now", audit=True, **switches)
    assert first.status == -1
    for done in (run, first):
        text_pages = {event.stval & ~(PGSIZE - 1) for event in done.events.of(BadAccess)}
        assert not [event for event in done.events.of(PageFault) if event.va in text_pages]


# ---- 7, 8, 10: who owns a page ----------------------------------------------------------------


def test_the_kernels_stores_split_shared_pages(machine, switches):
    run = machine.run("cowcopyout", audit=True, **switches)
    assert run.values() == {
        "pipe": 0,
        "child_fd": 4,
        "read": 8192,
        "child_wrong": 0,
        "parent_fds": 1,
        "parent_wrong": 0,
    }
    kernel_copies = [
        event for event in run.events.of(PageFault) if (event.kind, event.by) == ("cow-copy", "kernel")
    ]
    heap = [event for event in kernel_copies if event.pte_before & 1 << 7]  # dirty: the program filled them
    assert len(heap) >= 3 * switches["cow"], "two pages of the array, and the one of the descriptors"
    if not switches["cow"]:
        assert kernel_copies == []


def test_three_owners_write_in_turn(machine, switches):
    run = machine.run("threeowners", audit=True, **switches)
    assert run.status == 0
    got = run.values()
    assert [got[f"{who}_sees"] for who in "gcp"] == [(ord(who) + 1) * 256 + ord("r") for who in "gcp"]
    faults = [event.kind for event in run.events.of(PageFault) if event.va == got["page"]]
    first = ["lazy"] if switches["lazy"] else []
    later = ["cow-copy", "cow-copy", "cow-reuse"] if switches["cow"] else []
    assert faults == first + later, "second writes fault no more"


def test_two_owners_of_a_counter_and_another_program_at_the_same_addresses(machine, switches):
    run = machine.run("interleave", audit=True, **switches)
    assert run.values() == {
        "child_first": 1,
        "child": 101,
        "parent": 102,
        "other": 1,
        "status": 0,
        "end": 102,
    }


# ---- 9: running out ---------------------------------------------------------------------------


def test_who_takes_a_page_too_many_dies_and_nobody_else(machine, switches):
    run = machine.run("outofmemory", memory=8 * MIB, **switches)
    got = run.values()
    assert (got["sibling"], got["parent"]) == (33, 0)
    if switches["lazy"]:
        assert got["greedy"] == -1
        (event,) = run.events.of(BadAccess)
        assert "no frame is left" in event.why
        heap = [
            fault.va for fault in run.events.of(PageFault) if fault.pid == event.pid and fault.kind == "lazy"
        ]
        assert event.stval == heap[-1] + PGSIZE, "the first page that cannot be had"
        assert len(heap) == got["taken"]
    else:
        assert (got["greedy"], got["taken"]) == (44, 0)
        assert run.log == []


def test_a_writer_to_shared_pages_that_runs_out_dies_and_the_parents_data_is_whole(machine, switches):
    run = machine.run("cowburst", memory=8 * MIB, **switches)
    got = run.values()
    assert (got["short"], got["wrong"], got["lost"]) == (1, 0, 0)
    if switches["cow"]:
        assert (got["pid"], got["child"]) == (1, -1)
        assert len(run.log) == 1
    else:
        assert got["pid"] == -1


# ---- 11: refills ------------------------------------------------------------------------------


def test_a_refill_after_a_flush_is_no_fault(machine, switches):
    run = machine.run("refill", audit=True, **switches)
    assert run.status == 0
    watched = run.events.events
    marks = [n for n, event in enumerate(watched) if isinstance(event, Syscall) and event.name == "uptime"]
    between = [event for event in watched[marks[0] : marks[1]] if isinstance(event, PageFault)]
    assert between == []


# ---- 12: the KV cache -------------------------------------------------------------------------


@pytest.mark.parametrize(("tokens", "pages"), [(1, 60), (5, 60), (6, 120), (16, 180), (17, 240), (256, 2880)])
def test_the_resident_pages_of_a_kv_reserve(machine, tokens, pages):
    assert machine.run("kvpages", str(tokens), lazy=True).values()["resident"] == pages
    assert pages == 60 * -(-768 * tokens // 4096)


def test_a_kv_reserve_without_lazy_allocation_is_resident_at_once(machine):
    assert machine.run("kvpages", "1", lazy=False).values()["resident"] == 0  # all of it before the count


def test_the_heap_of_the_guests_library(machine, switches):
    values = machine.run("heap", **switches).values()
    assert values == {"grown": 0, "spoiled": 0, "crooked": 0, "too_large": 0}


# ---- 15, 16: frames that come and go ------------------------------------------------------------


def test_children_that_exit_exec_or_are_killed_leave_nothing(machine, switches):
    run = machine.run("churn", "40", **switches)
    assert run.values() == {"lost": 0}


@pytest.mark.slow
def test_a_thousand_children_leave_nothing(machine, switches):
    run = machine.run("churn", "1000", **switches)
    assert run.values() == {"lost": 0}


def test_a_page_given_back_cannot_be_read_though_another_has_its_frame(machine, switches):
    run = machine.run("reuse", audit=True, **switches)
    assert run.values() == {"reader": -1, "owner": 0}
    (event,) = run.events.of(BadAccess)
    assert event.cause == 13


def test_two_programs_that_fork_side_by_side_run_their_own_code(machine, switches):
    """Copies of text land in frames that held the other program's text, at the same addresses."""
    run = machine.shell("twinone & twintwo; sleep 1", check=False, **switches)
    assert run.text.count("wrong=0\n") == 2
    assert run.text.count("wrong=") == 2


# ---- 17: executables --------------------------------------------------------------------------

MAGIC = elf_file(Segment(0, b"\x13\0\0\0"), ident=b"\x7fELG" + bytes(12))
DAMAGED = {
    "magic": MAGIC,
    "short": elf_file(Segment(0, b"x"))[:40],
    "empty": b"",
    "text": b"#!/bin/sh\n",
    "unaligned": elf_file(Segment(8, b"x")),
    "wrapping": elf_file(Segment((1 << 64) - PGSIZE, b"x", memsz=2 * PGSIZE)),
    "filesz": elf_file(Segment(0, b"xyz", memsz=2)),
    "beyond": elf_file(Segment(0, b"x", offset=1 << 40)),
    "high": elf_file(Segment(0x3F_FFFF_E000, b"x")),
    "overlap": elf_file(Segment(0, b"x", memsz=2 * PGSIZE), Segment(PGSIZE, b"y")),
    "huge": elf_file(Segment(0, b"x", memsz=1 << 37)),
    "headers": elf_file(Segment(0, b"x"), phoff=1 << 63),
}


@pytest.mark.parametrize(("lazy", "cow_"), SWITCHES, ids=SWITCH_IDS)
def test_what_cannot_be_executed_leaves_the_caller_as_it_was(machine, tmp_path, lazy, cow_):
    for name, content in DAMAGED.items():
        (tmp_path / name).write_bytes(content)
    names = [f"/{name}" for name in DAMAGED] + ["/", "/nothing", "/echo/x"]
    run = machine.run("execall", *names, folders=[tmp_path], lazy=lazy, cow=cow_, audit=True)
    assert run.values() == dict.fromkeys(names, -1) | {"lost": 0}
    assert (run.status, run.log) == (0, [])


def test_tail_and_bss_of_a_program_read_zero_and_only_pt_load_is_loaded(assemble, switches):
    """The program adds up its data page and bss pages; attributes must not be mapped over them."""
    code = assemble(
        "li a1, 0x10000; li a2, 0x13000; li a0, 0; next: lbu t0, 0(a1); add a0, a0, t0; addi a1, a1, 1; "
        "bltu a1, a2, next; li a7, 3; ecall"
    )
    content = elf_file(
        Segment(0, code, flags=5),
        Segment(0x10000, b"\1\2\3", memsz=2 * PGSIZE, flags=6),
        Segment(0x12000, memsz=PGSIZE, flags=6),
        Segment(0x10000, b"\xff" * 64, kind=0x7000_0003),
    )
    run = Machine(b"").build(**switches)
    run.kernel.boot([], content)
    finish(run)
    assert run.status == 6
    assert peek(run.kernel.procs.init.space, 0x10000, 4) == b"\1\2\3\0"


# ---- 18: what does not stop by itself -----------------------------------------------------------


class CtrlC:
    """A terminal at which Ctrl-C is typed once the guest has made a certain system call."""

    on_demand = False

    def __init__(self):
        self.keys = b""

    def poll(self):
        keys, self.keys = self.keys, b""
        return keys

    def wait(self):
        return None


@pytest.mark.parametrize("lazy", [False, True])
def test_a_loop_without_a_system_call_ends_at_ctrl_c(machine, lazy):
    keyboard = CtrlC()
    kernels = []

    def press(event):
        if isinstance(event, Syscall) and event.name == "uptime":
            keyboard.keys = bytes([Key.INTERRUPT])
            kernels[0].hart.stop()

    run = machine.build(keyboard=keyboard, emit=press, lazy=lazy)
    kernels.append(run.kernel)
    run.kernel.boot([b"init", b"--", b"spin"], machine.init)
    assert run.kernel.run() == -1
    assert run.text.startswith("spinning\n")
    assert next((event.name, event.status) for event in run.events.of(Exit)) == ("spin", -1)
    run.kernel.audit()


def test_after_ctrl_c_the_shell_goes_on_with_its_next_line(machine):
    keyboard = CtrlC()
    kernels = []

    def press(event):
        if isinstance(event, Syscall) and event.name == "uptime":
            keyboard.keys = bytes([Key.INTERRUPT]) + b"echo still here\nexit 5\n"
            kernels[0].hart.stop()

    keyboard.keys = b"spin\n"
    run = machine.build(keyboard=keyboard, emit=press)
    kernels.append(run.kernel)
    run.kernel.boot([b"init"], machine.init)
    assert run.kernel.run() == 5
    assert "still here\n" in run.text.replace("echo still here\n", "")


def test_a_child_that_only_computes_can_be_killed(machine, switches):
    run = machine.run("killspin", **switches)
    assert run.values() == {"kill": 0, "status": -1}
