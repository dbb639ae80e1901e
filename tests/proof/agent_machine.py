"""Real processes that run the agent, each given one order at a time."""

from unittest.mock import patch

from matrix_elf import image
from support import Typed

from nexemu.kernel import Kernel, Options
from nexemu.machine.hart import Hart
from nexemu.personality import NEXOS
from nexemu.proc.proc import State
from nexemu.riscv import U64
from nexemu.sched import POLICIES

CALL, LOAD, STORE, EXEC = range(4)
RESULT, ORDER = 9, 18  # s1, and s2 with the six after it
NUMBERS = {row.name: row.number for row in NEXOS.calls}


def text_pages(elf):
    """The pages of the agent's image. It has text only: its data would be a page more to reckon with."""
    _, _, pages = image(elf, True, 1 << 20)
    assert all(not rights & 4 for _, rights in pages.values()), "the agent must have no data"
    return {va: data for va, (data, _) in pages.items()}


class Agents:
    """A machine whose init is an agent, on a hart of the class ``hart``. ``counted``: everybody else stays
    queued, so that each order is carried out while instructions are counted."""

    def __init__(self, elf, memory=64 << 20, counted=False, hart=Hart, **switches):
        with patch("nexemu.kernel.Hart", hart):
            self.kernel = Kernel(
                Options(memory=memory, **switches),
                POLICIES["round-robin"](),
                Typed(),
                bytearray().extend,
                [].append,
            )
        self.counted = counted
        self.procs, self.frames, self.hart = self.kernel.procs, self.kernel.frames, self.kernel.hart
        fs = self.kernel.fs
        fs.writei(fs.create(b"/agent", 2, fs.root), 0, elf)
        self.init = self.kernel.boot([b"agent"], elf)
        self.run(self.init)

    def order(self, pid, *words):
        """Give the order and let everybody go on who can."""
        proc = self.procs.find(pid)
        assert is_idle(proc)
        for register, word in enumerate(words, start=ORDER):
            self.hart.write_register(proc.context, register, word & U64)
        self.run(proc)
        self.settle()

    def call(self, pid, name, *arguments):
        self.order(pid, CALL, NUMBERS[name], *arguments)

    def result(self, pid):
        """What came of the last order, as a signed number."""
        word = self.hart.read_register(self.procs.find(pid).context, RESULT)
        return word - (1 << 64) if word >> 63 else word

    def settle(self):
        """Run those who were woken, in the order of their waking, until all wait."""
        while (proc := self._next()) is not None:
            self.run(proc)

    def _next(self):
        queued, found = [], None
        while (pid := self.procs.scheduler.choose()) is not None:
            proc = self.procs.find(pid)
            if found is None and (proc.killed or not is_idle(proc)):
                found = proc
            else:
                queued.append(pid)
        for pid in queued:
            self.procs.scheduler.ready(pid)
        return found

    def run(self, proc):
        """Until it waits for an order, or for somebody, or has ended."""
        self._take_off_the_queue(proc)
        while True:
            others = [] if self.counted else self._drain()
            self.kernel.dispatcher.run_slice(proc)
            self._take_off_the_queue(proc)
            for pid in others:
                self.procs.scheduler.ready(pid)
            if proc.state is State.RUNNABLE:
                self.procs.scheduler.ready(proc.pid)
            if proc.state is not State.RUNNABLE or is_idle(proc):
                return
            self._take_off_the_queue(proc)

    def _drain(self):
        pids = []
        while (pid := self.procs.scheduler.choose()) is not None:
            pids.append(pid)
        return pids

    def _take_off_the_queue(self, proc):
        for pid in self._drain():
            if pid != proc.pid:
                self.procs.scheduler.ready(pid)


def is_idle(proc):
    """It waits for an order, inside yield()."""
    return proc.state is State.RUNNABLE and proc.kernel is not None and proc.call[0] == "yield"
