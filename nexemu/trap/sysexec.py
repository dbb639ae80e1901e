"""The system call ``exec``: user memory gives the path and the arguments, a file the new image.

xv6: sys_exec() in kernel/sysfile.c, and kernel/exec.c. ABI.md section 2.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from nexemu.errors import BadCall, GuestError
from nexemu.events import Exec
from nexemu.mem.usercopy import copyin, copyinstr
from nexemu.param import MAXARG
from nexemu.proc.exec import POINTER_BYTES, Image, load
from nexemu.proc.proc import Proc
from nexemu.riscv import VA
from nexemu.trap.handler import Handler
from nexemu.trap.machine import Machine
from nexemu.trap.sysname import read_path

SP, A1 = 2, 11


def sys_exec(machine: Machine, proc: Proc, path: VA, argv: VA) -> int:
    """Replace the caller's image by the program at ``path``; the number of arguments."""
    name = read_path(proc, path)
    arguments = _read_argv(proc, argv, machine.personality.limits.argument_bytes)
    return exec_file(machine, proc, name, arguments).argc


def _read_argv(proc: Proc, argv: VA, limit: int) -> list[bytes]:
    """The strings that the array at ``argv`` points to, up to its 0, each shorter than ``limit``. Raises
    BadAddress or BadCall."""
    arguments: list[bytes] = []
    while len(arguments) < MAXARG:
        pointer = copyin(proc.space, argv + len(arguments) * POINTER_BYTES, POINTER_BYTES)
        if not any(pointer):
            return arguments
        arguments.append(copyinstr(proc.space, int.from_bytes(pointer, "little"), limit))
    raise BadCall(f"exec: more than {MAXARG - 1} arguments")


def exec_file(machine: Machine, proc: Proc, path: bytes, argv: Sequence[bytes]) -> Image:
    """Give ``proc`` the image in the file ``path``. Raises GuestError, with the old image intact. Registers
    other than pc, sp and a1 keep their values; a0 is the caller's business."""
    inode = machine.fs.namei(path, proc.cwd)
    space = machine.procs.new_space()
    try:
        image = load(space, inode.readi(0, inode.size), argv, machine.personality)
    except GuestError:
        space.free()
        raise
    proc.space.free()
    proc.space = space
    space.pid = proc.pid
    proc.name = _name(path)
    proc.context.pc = image.entry
    machine.hart.write_register(proc.context, SP, image.sp)
    machine.hart.write_register(proc.context, A1, image.sp if argv else 0)
    if machine.emit is not None:
        machine.emit(Exec(proc.pid, path.decode(errors="replace"), image.entry, space.size))
    return image


def _name(path: bytes) -> str:
    """What a process is called that executes ``path``: fit to stand in a line, whatever its bytes are."""
    text = path.rsplit(b"/", 1)[-1].decode(errors="replace")
    return "".join(letter if letter.isprintable() else "?" for letter in text)[:15]


CALLS: Final[Mapping[str, Handler]] = {"exec": sys_exec}
