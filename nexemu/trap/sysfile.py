"""The system calls of reading and writing, where user memory meets files.

A process waits where a pipe or the console has nothing for it, or no room. Regular files never
wait.

xv6: kernel/sysfile.c and fileread(), filewrite(). ABI.md section 3.
"""

from collections.abc import Mapping
from typing import Final

from nexemu.errors import BadCall, GuestError
from nexemu.fs.file import DeviceFile, File, InodeFile
from nexemu.mem.usercopy import copyin, copyout
from nexemu.param import PIPESIZE
from nexemu.proc.proc import KernelStack, Proc
from nexemu.riscv import VA
from nexemu.trap.descriptors import free_descriptors, open_file
from nexemu.trap.handler import Handler
from nexemu.trap.machine import Machine

PIECE: Final = 1 << 16
"""Bytes of a write that are copied in at a time."""


def sys_read(machine: Machine, proc: Proc, fd: int, buf: VA, n: int) -> int | KernelStack:
    """Read up to ``n`` bytes; how many, 0 at the end of the file."""
    file = open_file(proc, fd)
    if isinstance(file, InodeFile):
        return _read_inode(proc, file, buf, n)
    return _read_stream(machine, proc, file, buf, n)


def _read_inode(proc: Proc, file: InodeFile, buf: VA, n: int) -> int:
    offset = file.offset
    data = file.read(n)
    assert data is not None, "a file always has an answer"
    try:
        copyout(proc.space, buf, data)
    except GuestError:
        file.offset = offset
        raise
    return len(data)


def _read_stream(machine: Machine, proc: Proc, file: File, buf: VA, n: int) -> KernelStack:
    if isinstance(file, DeviceFile) and proc.parent is machine.procs.init:
        proc.job += 1  # a shell asks for its next line: what it starts from here on is a new job
    data = file.read(n)
    while data is None:
        yield file.channel
        stop_if_killed(proc)
        data = file.read(n)
    machine.procs.wakeup(file.channel)  # a writer may have been waiting for room
    copyout(proc.space, buf, data)
    return len(data)


def sys_write(machine: Machine, proc: Proc, fd: int, buf: VA, n: int) -> int | KernelStack:
    """Write ``n`` bytes; ``n``, or -1 even when part of them was written."""
    file = open_file(proc, fd)
    if n < 0:
        raise BadCall(f"write: {n} bytes")
    if file.channel is None or isinstance(file, DeviceFile):
        return _write_at_once(proc, file, buf, n)
    return _write_stream(machine, proc, file, buf, n)


def _write_at_once(proc: Proc, file: File, buf: VA, n: int) -> int:
    file.write(b"")  # a descriptor that cannot be written is refused before memory is looked at
    for skip in range(0, n, PIECE):
        file.write(copyin(proc.space, buf + skip, min(PIECE, n - skip)))
    return n


def _write_stream(machine: Machine, proc: Proc, file: File, buf: VA, n: int) -> KernelStack:
    done = file.write(b"")
    while done < n:
        taken = file.write(copyin(proc.space, buf + done, min(PIPESIZE, n - done)))
        done += taken
        machine.procs.wakeup(file.channel)
        if done < n:
            yield file.channel
            stop_if_killed(proc)
    return n


def stop_if_killed(proc: Proc) -> None:
    """Raise BadCall when ``proc`` was killed while it waited: the call must not go on waiting."""
    if proc.killed:
        raise BadCall("killed while waiting")


def sys_close(machine: Machine, proc: Proc, fd: int) -> int:
    """Give ``fd`` up."""
    file = open_file(proc, fd)
    proc.files[fd] = None
    machine.procs.close(file)
    return 0


def sys_dup(machine: Machine, proc: Proc, fd: int) -> int:
    """A second descriptor for the same open file: the lowest free number."""
    file = open_file(proc, fd)
    (copy,) = free_descriptors(proc, 1)
    proc.files[copy] = machine.files.dup(file)
    return copy


def sys_fstat(machine: Machine, proc: Proc, fd: int, st: VA) -> int:
    """Store struct stat."""
    copyout(proc.space, st, open_file(proc, fd).stat())
    return 0


def sys_pipe(machine: Machine, proc: Proc, fds: VA) -> int:
    """Store two new descriptors, the read end first."""
    numbers = free_descriptors(proc, 2)
    ends = machine.files.pipe(machine.pipe_frames.take())
    try:
        copyout(proc.space, fds, b"".join(fd.to_bytes(4, "little") for fd in numbers))
    except GuestError:
        for end in ends:
            machine.files.close(end)
        raise
    for fd, end in zip(numbers, ends, strict=True):
        proc.files[fd] = end
    return 0


CALLS: Final[Mapping[str, Handler]] = {
    "read": sys_read,
    "write": sys_write,
    "close": sys_close,
    "dup": sys_dup,
    "fstat": sys_fstat,
    "pipe": sys_pipe,
}
