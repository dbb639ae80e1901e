"""The system calls of reading and writing, where user memory meets files.

A process waits where a pipe or the console has nothing for it, or no room. Regular files never
wait.

xv6: kernel/sysfile.c and fileread(), filewrite(). ABI.md section 3.
"""

from collections.abc import Mapping
from typing import Final

from nexemu.errors import BadAddress, BadCall, GuestError, OutOfMemory
from nexemu.fs.file import DeviceFile, File, InodeFile
from nexemu.mem.usercopy import copyout, user_pieces
from nexemu.proc.proc import KernelStack, Proc
from nexemu.riscv import VA
from nexemu.trap.descriptors import free_descriptors, open_file
from nexemu.trap.handler import Handler
from nexemu.trap.machine import Machine


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
    if isinstance(file, DeviceFile) and proc.leader:
        proc.job += 1  # a shell asks for its next line: what it starts from here on is a new job
    data = file.read(n)
    while data is None:
        yield file.channel
        stop_if_killed(proc)
        data = file.read(n)
    machine.procs.wakeup(file.channel)  # a writer may have been waiting for room
    proc.saw_end = isinstance(file, DeviceFile) and not data and n > 0 and machine.console.ended
    try:
        copyout(proc.space, buf, data)
    except OutOfMemory:
        file.unread(data)
        raise
    except BadAddress as bad:
        file.unread(data[bad.va - buf + 1 :])  # byte by byte, the one that met the bad address is lost
        return _short_count(machine, bad, buf)
    return len(data)


def _short_count(machine: Machine, bad: BadAddress, buf: VA) -> int:
    """A pipe or the console met a bad address: how many bytes went well before it, where the ABI tells."""
    if not machine.personality.short_counts:
        raise bad
    return bad.va - buf


def sys_write(machine: Machine, proc: Proc, fd: int, buf: VA, n: int) -> int | KernelStack:
    """Write ``n`` bytes; ``n``. What lies before a bad address is written all the same."""
    file = open_file(proc, fd)
    if n < 0:
        raise BadCall(f"write: {n} bytes")
    file.write(b"")  # a descriptor that cannot be written is refused before memory is looked at
    if isinstance(file, InodeFile):
        for piece in user_pieces(proc.space, buf, n):
            file.write(piece)
        return n
    return _write_stream(machine, proc, file, buf, n)


def _write_stream(machine: Machine, proc: Proc, file: File, buf: VA, n: int) -> KernelStack:
    done = 0
    while done < n:
        try:
            piece = next(user_pieces(proc.space, buf + done, n - done))
        except BadAddress as bad:
            return _short_count(machine, bad, buf)
        taken = file.write(piece)
        done += taken
        if taken:  # else two writers to a full pipe would wake each other for ever
            machine.procs.wakeup(file.channel)  # a reader may have been waiting for bytes
        if taken < len(piece):
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
