"""The process table: who exists, who can run, who waits for what.

Owns every process and its memory from ``create`` to ``reap``. Invariants: at most ``limits.nproc``
processes exist, the reserved workers included; a pid is queued at the scheduler exactly while its
process is RUNNABLE; a zombie keeps its memory until its parent waits for it.

xv6: kernel/proc.c. ABI.md sections 3 and 7.
"""

from collections.abc import Iterator

from nexemu.errors import BadCall, OutOfMemory
from nexemu.events import Emit, Exit, Fork, Reap
from nexemu.fs.file import File
from nexemu.fs.file_table import FileTable
from nexemu.fs.inode import Inode
from nexemu.fs.ramfs import RamFs
from nexemu.machine.hart import Hart
from nexemu.mem.kalloc import FrameAllocator
from nexemu.mem.vm import AddressSpace, Copied, Paging
from nexemu.param import Limits
from nexemu.policy import Scheduler
from nexemu.proc.proc import RUNNABLE, SLEEPING, ZOMBIE, Proc
from nexemu.riscv import PA

A0 = 10
KILLED = -1
"""The exit status of a killed process, whoever killed it."""


class ProcTable:
    """All processes of one machine."""

    def __init__(
        self,
        frames: FrameAllocator,
        paging: Paging,
        hart: Hart,
        scheduler: Scheduler,
        fs: RamFs,
        files: FileTable,
        limits: Limits,
        emit: Emit | None,
    ) -> None:
        self.frames = frames
        self.paging = paging
        self.hart = hart
        self.scheduler = scheduler
        self.fs = fs
        self.files = files
        self.limits = limits
        self.emit = emit
        self.trampoline: PA = frames.kalloc_zeroed()
        self.init: Proc | None = None
        self._procs: dict[int, Proc] = {}
        self._next_pid = limits.workers + 1
        self._wake_at: dict[int, int] = {}  # pid to cycle, for those who sleep until a moment
        self._unborn: AddressSpace | None = None  # of the child that fork is making

    def __iter__(self) -> Iterator[Proc]:
        return iter(tuple(self._procs.values()))

    def spaces(self) -> list[AddressSpace]:
        """The memory of all processes, also of one that is not complete yet: a fork may need more frames
        than there are, and then the child's first pages leave for its last ones."""
        own = [proc.space for proc in self._procs.values()]
        return own if self._unborn is None else [*own, self._unborn]

    def find(self, pid: int) -> Proc | None:
        """The process with this pid, a zombie included."""
        return self._procs.get(pid)

    def new_space(self) -> AddressSpace:
        """An empty address space. Raises OutOfMemory."""
        return AddressSpace.create(self.frames, self.paging, self.trampoline)

    def create(self, name: str, space: AddressSpace, cwd: Inode) -> Proc:
        """A process without parent or open files that owns ``space`` and a hold on ``cwd``; it is not
        queued yet. The first one becomes init."""
        proc = Proc(self._next_pid, name, space, self.hart.new_context(), cwd)
        self._enter(proc)
        self.init = self.init or proc
        return proc

    def _enter(self, proc: Proc) -> None:
        proc.space.pid = proc.pid
        self._procs[proc.pid] = proc
        self._next_pid += 1

    def fork(self, parent: Proc) -> Proc:
        """A child like ``parent`` that sees 0 in a0, queued. Raises BadCall when no slot is left, OutOfMemory
        when its memory cannot be had; nothing of the child remains then."""
        if len(self._procs) + self.limits.workers >= self.limits.nproc:
            raise BadCall(f"fork: all {self.limits.nproc} process slots are taken")
        try:
            space, pages = self._copy_space(parent.space)
        except OutOfMemory:
            self._next_pid += 1  # ABI.md section 7: the number is lost
            raise
        context = self.hart.fork_context(parent.context)
        child = Proc(self._next_pid, parent.name, space, context, self.fs.idup(parent.cwd), parent)
        child.files = [file and self.files.dup(file) for file in parent.files]
        child.job = parent.job
        child.leader = parent is self.init
        self._enter(child)
        self.hart.write_register(child.context, A0, 0)
        if self.emit is not None:
            self.emit(Fork(parent.pid, child.pid, pages.shared, pages.copied))
        self.make_runnable(child)
        return child

    def _copy_space(self, parent: AddressSpace) -> tuple[AddressSpace, Copied]:
        space = self.new_space()
        space.code_epoch, space.forbidden = parent.code_epoch, parent.forbidden
        space.pid = self._next_pid
        self._unborn = space
        try:
            return space, self.paging.handler.fork_copy(parent, space)
        except OutOfMemory:
            space.free()
            raise
        finally:
            self._unborn = None

    def make_runnable(self, proc: Proc) -> None:
        """``proc`` can run: queue it."""
        proc.state = RUNNABLE
        proc.chan = None
        self._wake_at.pop(proc.pid, None)
        self.scheduler.ready(proc.pid)

    def wakeup(self, chan: object) -> None:
        """Everybody who sleeps on ``chan`` can run again."""
        for proc in self._procs.values():
            if proc.chan is chan and proc.state is SLEEPING:
                self.make_runnable(proc)

    def wake_at(self, proc: Proc, cycles: int) -> None:
        """``proc``, about to sleep, can run again at ``cycles`` at the latest."""
        self._wake_at[proc.pid] = cycles

    def next_wake(self) -> int | None:
        """The cycle at which the first sleeper wakes by itself."""
        return min(self._wake_at.values()) if self._wake_at else None

    def wake_due(self, cycles: int) -> None:
        """Everybody whose moment has come at ``cycles`` can run again."""
        if not self._wake_at:
            return
        for pid in [pid for pid, moment in self._wake_at.items() if moment <= cycles]:
            self.make_runnable(self._procs[pid])

    def kill(self, proc: Proc) -> None:
        """Mark ``proc``: it dies at its next way out of the kernel, and does not sleep until then."""
        proc.killed = True
        if proc.state is SLEEPING:
            self.make_runnable(proc)

    def exit(self, proc: Proc, status: int) -> None:
        """``proc`` becomes a zombie: files closed, children given to init, the parent woken. Its memory stays
        until the parent waits."""
        for fd, file in enumerate(proc.files):
            if file is not None:
                proc.files[fd] = None
                self.close(file)
        self.fs.iput(proc.cwd)
        for child in self._children(proc):
            child.parent = self.init
            self.wakeup(self.init)
        proc.state = ZOMBIE
        self.scheduler.forget(proc.pid)
        proc.xstate = status
        proc.kernel = None
        if self.emit is not None:
            self.emit(Exit(proc.pid, proc.name, status))
        self.wakeup(proc.parent)

    def close(self, file: File) -> None:
        """Drop one hold on ``file``, and wake whoever waits at the other end of it."""
        channel = file.channel
        self.files.close(file)
        if channel is not None:
            self.wakeup(channel)

    def _children(self, parent: Proc) -> list[Proc]:
        return [proc for proc in self._procs.values() if proc.parent is parent]

    def zombie_child(self, parent: Proc) -> Proc | None:
        """A child of ``parent`` that has exited. Raises BadCall when it has no children at all."""
        children = self._children(parent)
        if not children:
            raise BadCall("wait: no children")
        return next((child for child in children if child.state is ZOMBIE), None)

    def reap(self, zombie: Proc) -> None:
        """The last trace of ``zombie`` goes: its memory, its pid."""
        del self._procs[zombie.pid]
        zombie.space.free()
        if self.emit is not None and zombie.parent is not None:
            self.emit(Reap(zombie.parent.pid, zombie.pid))

    def foreground(self) -> list[Proc]:
        """What Ctrl-C ends: the processes that the shells' current lines have started."""
        jobs = {proc.job for proc in self._procs.values() if proc.leader}
        started = [proc for proc in self._procs.values() if not proc.leader and proc is not self.init]
        return [proc for proc in started if proc.job in jobs]

    def listing(self) -> str:
        """One line a process, as Ctrl-P shows it. xv6: procdump()."""
        lines = [f"{'pid':>5} {'ppid':>5} {'state':<9} name"]
        for proc in self._procs.values():
            parent = proc.parent.pid if proc.parent is not None else 0
            lines.append(f"{proc.pid:>5} {parent:>5} {proc.state.name.lower():<9} {proc.name}")
        return "\n".join(lines)
