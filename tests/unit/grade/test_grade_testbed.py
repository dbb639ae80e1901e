"""The testbed: one instruction at a time, on a real kernel; and whole guests."""

import pytest

from nexemu.errors import KernelPanic
from nexemu.grade.guest_test import GuestTest, run_guest
from nexemu.grade.primitive import Function
from nexemu.grade.testbed.expect import Killed, Lost, equal, killed, true
from nexemu.grade.testbed.journal import Journal
from nexemu.grade.testbed.program import ANSWER, BREAK, CODE, DATA, DATA_PAGE, GUARD, STACK, TEXT
from nexemu.grade.testbed.testbed import Testbed
from nexemu.mem.builtin import BUILTIN
from nexemu.riscv import PGSIZE, PTE_R, PTE_U, PTE_W, PTE_X, Cause


@pytest.fixture
def bed():
    return Testbed(lambda _emit: BUILTIN, Journal())


def test_a_puppet_is_loaded_as_a_program(bed):
    p = bed.start()
    rights = {va: p.rights(va) & (PTE_R | PTE_W | PTE_X | PTE_U) for va in (TEXT, DATA, CODE, GUARD, STACK)}
    assert rights == {
        TEXT: PTE_R | PTE_X | PTE_U,
        DATA: PTE_R | PTE_W | PTE_U,
        CODE: PTE_R | PTE_W | PTE_X | PTE_U,
        GUARD: PTE_R | PTE_W,
        STACK: PTE_R | PTE_W | PTE_U,
    }
    assert (p.space.size, p.resident) == (BREAK, 4)
    assert p.peek(DATA, PGSIZE) == DATA_PAGE


def test_instructions(bed):
    p = bed.start()
    assert p.load(DATA) == 1
    p.store(DATA, 0xAB)
    assert p.peek(DATA, 2) == b"\xab\x02"
    p.poke(DATA, bytes(4))
    assert p.add(DATA, 7) == 0
    assert p.add(DATA, -1) == 7
    assert p.peek(DATA, 4) == b"\6\0\0\0"
    assert p.jump(CODE) == ANSWER


def test_system_calls(bed):
    p = bed.start()
    assert p.sbrk(100) == BREAK
    assert p.sbrk(-(1 << 30)) == -1
    child = p.fork()
    assert child.proc.parent is p.proc
    child.exit(5)
    assert not child.alive
    assert p.wait(DATA) == child.pid
    assert p.peek(DATA, 4) == b"\5\0\0\0"


def test_a_bad_access_kills_with_its_cause(bed):
    p = bed.start()
    result = p.store(TEXT, 1)
    assert (result.cause, p.alive) == (Cause.STORE_PAGE_FAULT, False)
    assert "program text" in str(result)
    with pytest.raises(Lost, match="it was killed"):
        p.load(DATA)


def test_an_endless_instruction_is_noticed(bed):
    p = bed.start()
    p.poke(CODE, (0x6F).to_bytes(4, "little"))  # j .
    with pytest.raises(Lost, match="it never does"):
        p.jump(CODE)


def test_a_call_that_would_sleep_is_noticed(bed):
    p = bed.start()
    p.fork()
    with pytest.raises(Lost, match="it never does"):
        p.wait()


def test_memory_can_be_made_scarce(bed):
    p = bed.start()
    bed.keep_only(3)
    assert bed.free == 3
    bed.fail_allocation(1)
    assert p.try_fork() == -1
    with pytest.raises(Lost, match="fork succeeds"):
        p.fork()


def test_the_audit_is_the_kernels(bed):
    p = bed.start()
    bed.audit()
    bed.kernel.frames.incref(p.frame(DATA))
    with pytest.raises(KernelPanic, match="audit"):
        bed.audit()


def test_the_journal_tells_the_last_events(bed):
    p = bed.start()
    heap = p.grow(2)
    p.store(heap + 5, 1)
    p.load(1 << 40)
    refusal = (
        "  page_fault(pid 3, 0x10000000000, READ) says BadAddress: 0x10000000000: "
        "load from an address at or beyond MAXVA (0x4000000000)"
    )
    assert bed.journal.lines == [
        "pid 3: ecall          calls sbrk(0x2000)",
        "  sbrk(pid 3, 8192): the break goes from 0x5000 to 0x7000, mapped pages from 4 to 4",
        "pid 3: sb a1, 0(a0)   stores 0x1 to 0x5005",
        "  page_fault(pid 3, 0x5000, WRITE): the page was",
        "      not mapped",
        "    and is",
        f"      V R W - U - A D, frame {p.frame(heap):#x} held by 1",
        "pid 3: lbu a0, 0(a0)  loads a byte from 0x10000000000",
        refusal,
    ]
    assert bed.calls(Function.PAGE_FAULT) == 2
    assert bed.calls(Function.SBRK) == 1


def test_expectations():
    equal("a number", 5, 5)
    true("it is so", True, "it is not")
    killed("a load", Killed(Cause.LOAD_PAGE_FAULT, "gone"), Cause.LOAD_PAGE_FAULT)
    with pytest.raises(Lost) as caught:
        equal("a number", 5, 6, hex)
    assert (caught.value.expected, caught.value.happened) == ("a number: 0x6", "a number: 0x5")
    with pytest.raises(Lost) as caught:
        equal("a byte", Killed(13, "why not"), 6)
    assert caught.value.happened == "a byte: the process is killed: why not"
    with pytest.raises(Lost) as caught:
        killed("a load", 0, Cause.LOAD_PAGE_FAULT)
    assert caught.value.expected == "a load is a load page fault that kills the process"
    with pytest.raises(Lost):
        killed("a load", Killed(Cause.STORE_PAGE_FAULT, "gone"), Cause.LOAD_PAGE_FAULT)


def guest(*command, **expected):
    run_guest(GuestTest(command, **expected), lambda _emit: BUILTIN, Journal())


def test_a_guest_is_held_to_what_is_expected(guests):
    guest("lazydemo", "8", "4", faults={"lazy": (4, 20)})
    guest("crash", status=-1, kills=1)
    guest("sh", "-c", "crash; echo on", kills=1)


def test_what_a_guest_printed_is_quoted_as_letters(guests):
    journal = Journal()
    with pytest.raises(Lost):
        run_guest(GuestTest(("echo", "\x1b[2Jfooled\x01"), status=1), lambda _emit: BUILTIN, journal)
    assert journal.lines[-1] == "the program prints: \ufffd[2Jfooled\ufffd"


@pytest.mark.parametrize(
    ("command", "expected", "said"),
    [
        (("lazydemo", "8", "4"), {"status": 1}, "the exit status: 0"),
        (("lazydemo", "8", "4"), {"faults": {"lazy": (100, 200)}}, "page faults of kind lazy: "),
        (("sh", "-c", "crash; echo on"), {}, "processes killed for a bad access: 1"),
        (("lazydemo", "2000", "2000"), {"instructions": 1000}, "more instructions than it can need"),
        (("no-such-program",), {}, "the exit status: "),
    ],
)
def test_a_guest_that_does_otherwise_loses(command, expected, said, guests):
    with pytest.raises(Lost) as caught:
        guest(*command, **expected)
    assert said in caught.value.happened
