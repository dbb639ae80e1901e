"""A sandbox: it answers, it is limited, and what it says is only numbers and text."""

import errno
import os
from pathlib import Path

import pytest

from nexemu.errors import BadAddress, BadCall, OutOfMemory
from nexemu.grade.primitive import Function
from nexemu.grade.sandbox.process import KEPT_OUTPUT, printable
from nexemu.grade.sandbox.seccomp import ALLOW, ARCHITECTURES, REFUSE, filter_of
from nexemu.grade.sandbox.student import SandboxedStudent
from nexemu.grade.sandbox.wire import signed
from nexemu.grade.student.source import HandlerFailed
from nexemu.mem.builtin import BUILTIN
from nexemu.riscv import Access

HANDLER = """
from nexemu.grade.kit import BadAddress, BadCall, OutOfMemory
import os

def write_everywhere(data):
    for descriptor in range(3, 300):
        try:
            os.write(descriptor, data)
        except OSError:
            pass

def sbrk(space, n):
    {sbrk}
def page_fault(space, va, access):
    {page_fault}
def fork_copy(parent, child):
    child.size = parent.size
def release(space):
    {release}
prepare_copyin = prepare_copyout = page_fault
"""


def text(sbrk="return n", page_fault="pass", release="pass"):
    return HANDLER.format(sbrk=sbrk, page_fault=page_fault, release=release)


@pytest.fixture
def space(make_memory):
    return make_memory(handler=BUILTIN).space()


def call(text, function, spaces, a=0, b=0):
    with SandboxedStudent(text, "handler.py") as student:
        return student.call(function, spaces, a, b)


def test_it_answers(space):
    with SandboxedStudent(text("print(n); return n - 1"), "handler.py") as student:
        answers = [student.call(Function.SBRK, [space], n) for n in (0, 5, -5, 1 << 40)]
    assert answers == [-1, 4, -6, (1 << 40) - 1]
    assert student.output == "0\n5\n-5\n1099511627776\n"


def test_addresses_have_64_bits(space):
    with pytest.raises(BadAddress) as caught:
        call(
            text(page_fault="raise BadAddress(va, f'{va:#x} {access.name}')"),
            Function.PAGE_FAULT,
            [space],
            (1 << 64) - 1,
            Access.FETCH,
        )
    assert (caught.value.va, caught.value.why) == ((1 << 64) - 1, "0xffffffffffffffff FETCH")


def test_it_changes_the_machine_through_primitives(make_memory):
    memory = make_memory(handler=BUILTIN)
    parent, child = memory.space(), memory.space()
    parent.size = 0x7000
    call(text(), Function.FORK_COPY, [parent, child])
    assert child.size == 0x7000
    child.size = parent.size = 0


def test_it_can_say_no(space):
    for raised, error in (("OutOfMemory('x')", OutOfMemory), ("BadCall('x')", BadCall)):
        with pytest.raises(error):
            call(text(sbrk=f"raise {raised}"), Function.SBRK, [space])


def test_a_panic_cannot_be_caught(space):
    code = "try: space.kfree(4096)\n    except BaseException: return 0"
    with pytest.raises(HandlerFailed, match="panic: kfree: 0x1000 is not the frame of a user page"):
        call(text(sbrk=code), Function.SBRK, [space])


def test_what_failed_once_keeps_failing(space):
    with SandboxedStudent(text(release="1 / 0"), "handler.py") as student:
        for function in (Function.RELEASE, Function.SBRK):
            with pytest.raises(HandlerFailed, match="ZeroDivisionError"):
                student.call(function, [space])


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("os._exit(3)", "the handler ended its process, with exit status 3"),
        ("os.close(1); os.abort()", "killed by signal "),
        ("while True: pass", "TooLong: more than 1 s of processor time in one call"),
        ("while True: space.walk(0)", "more than 30,000 calls of the kernel in one go"),
        ("return bytearray(1 << 40)", "MemoryError"),
        ("while True: print('spam' * 1000)", "the handler prints without end"),
        ("open('/etc/passwd')", "PermissionError: open: a handler runs without files"),
        ("import socket", "ModuleNotFoundError: No module named 'socket'"),
        ("os.fork()", "PermissionError: os.fork"),
        ("write_everywhere(b'x' * 42)", "the handler sent the machine something that is no answer"),
    ],
)
def test_its_limits(code, said, space):
    with pytest.raises(HandlerFailed) as caught:
        call(text(sbrk=code), Function.SBRK, [space])
    assert said in str(caught.value)


def test_asking_before_it_is_asked_is_refused():
    with pytest.raises(HandlerFailed, match="no answer"):
        SandboxedStudent(text() + "write_everywhere(bytes(42))\n", "handler.py")


def test_it_is_gone_afterwards(space):
    with SandboxedStudent(text(sbrk="return os.getpid()"), "handler.py") as student:
        pid = student.call(Function.SBRK, [space])
        assert Path(f"/proc/{pid}").exists() or not Path("/proc").exists()
    with pytest.raises(OSError, check=lambda error: error.errno == errno.ESRCH):
        os.kill(pid, 0)


def test_only_the_beginning_of_what_it_prints_is_kept(space):
    with SandboxedStudent(text(sbrk="print('x' * 100_000); return 0"), "handler.py") as student:
        student.call(Function.SBRK, [space])
    assert student.output == "x" * KEPT_OUTPUT


def test_what_it_prints_cannot_fool_a_terminal():
    assert printable(b"\x1b[2JScore: 100\r\n\xff\tx") == "\ufffd[2JScore: 100\n\ufffd\tx"


def test_numbers_with_a_sign():
    assert [signed(number) for number in (0, 5, (1 << 64) - 1, 1 << 63)] == [0, 5, -1, -(1 << 63)]


def run_filter(rows, architecture, number):
    """What the filter says to a call: a small machine for its instructions."""
    loaded = at = 0
    while True:
        code, if_true, if_false, operand = rows[at]
        at += 1
        if code == 0x20:
            loaded = {0: number, 4: architecture}[operand]
        elif code == 0x15:
            at += if_true if loaded == operand else if_false
        else:
            assert code == 0x06
            return operand


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_the_filter_allows_its_list_and_nothing_else(name):
    architecture = ARCHITECTURES[name]
    rows = filter_of(architecture)
    for number in range(600):
        verdict = run_filter(rows, architecture.audit, number)
        assert verdict == (ALLOW if number in architecture.allowed else REFUSE)
    assert run_filter(rows, 0x4000_0003, architecture.allowed[0]) == REFUSE, "another architecture's numbers"


@pytest.mark.parametrize(
    ("name", "forbidden"),
    [
        # open creat openat openat2; socket connect; clone fork vfork clone3 execve execveat; kill tkill
        ("x86_64", (2, 85, 257, 437, 41, 42, 56, 57, 58, 435, 59, 322, 62, 200, 234)),
        ("aarch64", (56, 437, 198, 203, 220, 435, 221, 281, 129, 130, 131)),
        # ptrace process_vm_readv _writev; unlink rename mkdir; prlimit64 setrlimit; io_uring_setup
        ("x86_64", (101, 310, 311, 87, 82, 83, 302, 160, 425)),
        ("aarch64", (117, 270, 271, 35, 38, 34, 261, 164, 425)),
    ],
)
def test_dangerous_calls_are_not_on_the_list(name, forbidden):
    assert not set(forbidden) & set(ARCHITECTURES[name].allowed)
    assert len(set(ARCHITECTURES[name].allowed)) == len(ARCHITECTURES[name].allowed)
