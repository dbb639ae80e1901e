"""The system calls of names: what a path leads to, and which paths there are.

xv6: sys_open() to sys_chdir() in kernel/sysfile.c. ABI.md section 1.
"""

from collections.abc import Mapping
from typing import Final

from nexemu.mem.usercopy import copyinstr
from nexemu.param import MAXPATH
from nexemu.proc.proc import Proc
from nexemu.riscv import VA
from nexemu.trap.descriptors import free_descriptors
from nexemu.trap.handler import Handler
from nexemu.trap.machine import Machine


def read_path(proc: Proc, va: VA) -> bytes:
    """The path at ``va``, shorter than MAXPATH. Raises BadAddress."""
    return copyinstr(proc.space, va, MAXPATH)


def sys_open(machine: Machine, proc: Proc, path: VA, mode: int) -> int:
    """Open ``path``; the lowest free descriptor."""
    name = read_path(proc, path)
    (fd,) = free_descriptors(proc, 1)
    proc.files[fd] = machine.files.open(name, mode, proc.cwd)
    return fd


def sys_chdir(machine: Machine, proc: Proc, path: VA) -> int:
    """Make the directory ``path`` the one that relative paths start from."""
    proc.cwd = machine.fs.chdir(read_path(proc, path), proc.cwd)
    return 0


def sys_mkdir(machine: Machine, proc: Proc, path: VA) -> int:
    """Make an empty directory."""
    machine.fs.mkdir(read_path(proc, path), proc.cwd)
    return 0


def sys_mknod(machine: Machine, proc: Proc, path: VA, major: int, minor: int) -> int:
    """Make a name for the device ``major``, ``minor``."""
    machine.fs.mknod(read_path(proc, path), major, minor, proc.cwd)
    return 0


def sys_unlink(machine: Machine, proc: Proc, path: VA) -> int:
    """Remove a name; the file goes with its last name and its last user."""
    machine.fs.unlink(read_path(proc, path), proc.cwd)
    return 0


def sys_link(machine: Machine, proc: Proc, old: VA, new: VA) -> int:
    """Give the file ``old`` a second name."""
    machine.fs.link(read_path(proc, old), read_path(proc, new), proc.cwd)
    return 0


CALLS: Final[Mapping[str, Handler]] = {
    "open": sys_open,
    "chdir": sys_chdir,
    "mkdir": sys_mkdir,
    "mknod": sys_mknod,
    "unlink": sys_unlink,
    "link": sys_link,
}
