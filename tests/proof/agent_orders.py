"""A state machine that gives the same orders to real processes and to the model, and compares all of both."""

from agent_machine import CALL, EXEC, LOAD, NUMBERS, STORE, Agents, text_pages
from agent_model import COW, GUARD, OWN, READ_ONLY, TEXT, End, Model
from gate import view
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from nexemu.machine.hart import Hart
from nexemu.memlayout import KERNBASE, TRAMPOLINE, TRAPFRAME
from nexemu.proc.proc import State
from nexemu.riscv import MAXVA, PGSIZE, PTE_COW, PTE_R, PTE_U, PTE_V, PTE_W, PTE_X, U64

RIGHTS = {
    OWN: PTE_V | PTE_R | PTE_W | PTE_U,
    COW: PTE_V | PTE_R | PTE_U | PTE_COW,
    TEXT: PTE_V | PTE_R | PTE_X | PTE_U,
    READ_ONLY: PTE_V | PTE_R | PTE_U,
}
ANON = 3
HEAP_PAGES = 10

who = st.integers(0, 5)
sizes = st.sampled_from([1, 2, 4, 8])
values = st.integers(0, U64)
offsets = st.one_of(
    st.sampled_from([0, 1, 8, 2000, 4088, 4090, 4092, 4094, 4095]), st.integers(0, PGSIZE - 1)
)
heap = st.tuples(st.just("heap"), st.integers(0, HEAP_PAGES), offsets)
near = st.tuples(st.just("heap"), st.integers(0, 3), offsets)
areas = st.tuples(st.just("area"), st.integers(0, 7), offsets)
odd = st.sampled_from(
    [
        ("at", va, 0)
        for va in (
            0,
            PGSIZE - 4,
            KERNBASE,
            TRAPFRAME - 4,
            TRAPFRAME,
            TRAMPOLINE,
            MAXVA - 1,
            MAXVA,
            1 << 63,
            U64,
        )
    ]
)
places = st.one_of(near, heap, near, areas, heap, near, areas, odd)
steps = [PGSIZE, 2 * PGSIZE, -PGSIZE, 1, -1, 100, -100, 1 << 30, -(1 << 30), 513 * PGSIZE, -513 * PGSIZE]
amounts = st.one_of(st.integers(-3 * PGSIZE, 4 * PGSIZE), st.sampled_from(steps))
counts = st.one_of(st.integers(1, 40), st.sampled_from([1, 511, 512, 513, 1000, PGSIZE, -1]))


class Orders(RuleBasedStateMachine):
    """Subclasses say ``elf``, ``lazy``, ``cow``, ``counted``, ``hart`` and ``tried``."""

    elf = b""
    lazy = cow = True
    counted = False
    hart = Hart

    @initialize()
    def boot(self):
        switches = {"lazy": self.lazy, "cow": self.cow}
        self.agents = Agents(self.elf, counted=self.counted, hart=self.hart, **switches)
        self.model = Model(self.lazy, self.cow, text_pages(self.elf), self.agents.init.pid)

    # ---- who, and where -----------------------------------------------------------------------

    def idle(self):
        waiting = (proc for proc in self.model.procs.values() if not proc.zombie and proc.call is None)
        return list(waiting)

    def pick(self, number):
        idle = self.idle()
        return idle[number % len(idle)]

    def resolve(self, process, place):
        kind, number, offset = place
        if kind == "heap":
            return self.model.base + number * PGSIZE + offset
        if kind == "at":
            return number
        if not process.areas:
            return self.model.base + offset
        start, length, _ = process.areas[number % len(process.areas)]
        return start + number * PGSIZE % (length + PGSIZE) + offset

    def tell(self, process, action, *words):
        """Give both the order, and compare what came of it."""
        self.tried("orders")
        self.model.serve(process, action)
        self.agents.order(process.pid, *words)
        for each in self.idle():
            assert self.agents.result(each.pid) == each.result

    def call(self, process, name, method, *arguments, registers=None):
        words = arguments if registers is None else registers
        self.tell(process, lambda: method(process, *arguments), CALL, NUMBERS[name], *words)

    # ---- rules --------------------------------------------------------------------------------

    can_order = precondition(lambda self: self.idle())

    @can_order
    @rule(number=who, size=sizes, place=places)
    def load(self, number, size, place):
        process = self.pick(number)
        va = self.resolve(process, place)
        if self.may(process, va, size, to_write=False):
            self.tell(process, lambda: signed(self.model.load(process, size, va)), LOAD, size, va)

    @can_order
    @rule(number=who, size=sizes, place=places, value=values)
    def store(self, number, size, place, value):
        process = self.pick(number)
        va = self.resolve(process, place)
        if self.may(process, va, size, to_write=True):
            self.tell(process, lambda: self.model.store(process, size, va, value), STORE, size, va, value)

    def may(self, process, va, size, to_write):
        """Anything that init survives: with init the machine would end."""
        ends = (va, va + size - 1)
        return process.pid != self.model.init or all(
            self.model.is_usable(process, end, to_write) for end in ends
        )

    @can_order
    @rule(number=who, n=amounts)
    def sbrk(self, number, n):
        process = self.pick(number)
        if 0 <= process.size + n < self.model.base or process.size + n > 1 << 30:
            n = 2 * PGSIZE
        self.call(process, "sbrk", self.model.sbrk, n)

    @can_order
    @rule(number=who, place=near, value=values)
    def give_a_page_back_and_take_it_again(self, number, place, value):
        """What was stored there is gone, whatever a TLB may remember."""
        process = self.pick(number)
        if process.size - self.model.base < PGSIZE:
            self.call(process, "sbrk", self.model.sbrk, 2 * PGSIZE)
        va = process.size - 8
        self.tell(process, lambda: self.model.store(process, 8, va, value), STORE, 8, va, value)
        self.call(process, "sbrk", self.model.sbrk, -PGSIZE)
        self.call(process, "sbrk", self.model.sbrk, PGSIZE)
        self.tell(process, lambda: signed(self.model.load(process, 8, va)), LOAD, 8, va)

    @can_order
    @rule(number=who, page=st.integers(0, 3), forks=st.booleans())
    def let_the_kernel_store_where_a_load_was(self, number, page, forks):
        """pipe() stores its descriptors; the load before has filled the TLB, the one behind must see them."""
        process = self.pick(number)
        va = self.model.base + page * PGSIZE
        if process.size <= va or process.fds.count(None) < 3:
            return
        self.tell(process, lambda: self.model.store(process, 8, va, page), STORE, 8, va, page)
        if forks and len(self.model.procs) < 5:
            self.call(process, "fork", self.model.fork)
        self.tell(process, lambda: signed(self.model.load(process, 8, va)), LOAD, 8, va)
        self.call(process, "pipe", self.model.pipe, va)
        self.tell(process, lambda: signed(self.model.load(process, 8, va)), LOAD, 8, va)
        for fd in (process.result & 0xFFFF_FFFF, process.result >> 32):
            self.call(process, "close", self.model.close, fd)

    @can_order
    @rule(number=who, value=values, length=st.integers(1, 3 * PGSIZE))
    def unmap_an_area_and_map_another(self, number, value, length):
        process = self.pick(number)
        registers = (0, length, 3, ANON, -1)
        self.call(process, "mmap", self.model.mmap, length, 3, registers=registers)
        va = process.result
        if va > 0:
            self.tell(process, lambda: self.model.store(process, 8, va, value), STORE, 8, va, value)
            self.call(process, "munmap", self.model.munmap, va, length)
            self.call(process, "mmap", self.model.mmap, length, 3, registers=registers)
            self.tell(process, lambda: signed(self.model.load(process, 8, va)), LOAD, 8, va)

    @can_order
    @rule(number=who)
    def fork(self, number):
        process = self.pick(number)
        if len(self.model.procs) < 5 or number == 5:
            self.call(process, "fork", self.model.fork)

    @can_order
    @rule(number=who, status=st.integers(-(1 << 31), (1 << 31) - 1))
    def exit(self, number, status):
        process = self.pick(number)
        if process.pid != self.model.init:
            self.call(process, "exit", self.model.exit, status)

    @can_order
    @rule(number=who, place=st.one_of(st.just(("at", 0, 0)), near, places))
    def wait(self, number, place):
        process = self.pick(number)
        self.call(process, "wait", self.model.wait, self.resolve(process, place))

    @can_order
    @rule(number=who)
    def exec(self, number):
        process = self.pick(number)
        self.tell(process, lambda: self.model.exec(process), EXEC)

    @can_order
    @rule(number=who, victim=who)
    def kill(self, number, victim):
        process = self.pick(number)
        pids = [pid for pid in self.model.procs if pid != self.model.init] or [1]
        self.call(process, "kill", self.model.kill, pids[victim % len(pids)])

    @precondition(lambda self: not self.idle())
    @rule()
    def interrupt(self):
        """Everybody waits for somebody: end whoever came last, as Ctrl-C would."""
        pid = max(pid for pid, process in self.model.procs.items() if not process.zombie)
        if pid != self.model.init:
            self.model.kill(None, pid)
            self.model.settle()
            self.agents.procs.kill(self.agents.procs.find(pid))
            self.agents.settle()

    @can_order
    @rule(number=who, place=st.one_of(near, places))
    def pipe(self, number, place):
        process = self.pick(number)
        self.call(process, "pipe", self.model.pipe, self.resolve(process, place))

    @can_order
    @rule(number=who, fd=st.integers(0, 9))
    def close(self, number, fd):
        process = self.pick(number)
        self.call(process, "close", self.model.close, self.descriptor(process, fd, None))

    @can_order
    @rule(number=who, fd=st.integers(0, 3), place=st.one_of(near, places), n=counts)
    def read(self, number, fd, place, n):
        process = self.pick(number)
        fd = self.descriptor(process, fd, writes=False)
        self.call(process, "read", self.model.read, fd, self.resolve(process, place), n)

    @can_order
    @rule(number=who, fd=st.integers(0, 3), place=st.one_of(near, places), n=counts)
    def write(self, number, fd, place, n):
        process = self.pick(number)
        fd = self.descriptor(process, fd, writes=True)
        self.call(process, "write", self.model.write, fd, self.resolve(process, place), n)

    def descriptor(self, process, number, writes):
        """A descriptor of that kind where there is one, else one that nothing is behind."""
        ends = [
            fd for fd, end in enumerate(process.fds) if isinstance(end, End) and writes in (None, end.writes)
        ]
        return ends[number % len(ends)] if ends else 15

    @can_order
    @rule(number=who, length=st.integers(0, 5 * PGSIZE), prot=st.integers(0, 4))
    def mmap(self, number, length, prot):
        process = self.pick(number)
        registers = (0, length, prot, ANON, -1)
        self.call(process, "mmap", self.model.mmap, length, prot, registers=registers)

    @can_order
    @rule(number=who, place=st.one_of(areas, places), pages=st.integers(0, 3), aligned=st.booleans())
    def munmap(self, number, place, pages, aligned):
        process = self.pick(number)
        va = self.resolve(process, place)
        va = va // PGSIZE * PGSIZE if aligned else va
        self.call(process, "munmap", self.model.munmap, va, pages * PGSIZE)

    # ---- what must hold -----------------------------------------------------------------------

    @invariant()
    def both_are_the_same(self):
        if not hasattr(self, "model"):
            return
        procs = {proc.pid: proc for proc in self.agents.procs}
        assert procs.keys() == self.model.procs.keys()
        for pid, process in self.model.procs.items():
            proc = procs[pid]
            assert (proc.state is State.ZOMBIE) == process.zombie
            assert (proc.state is State.SLEEPING) == (process.call is not None)
            assert (proc.parent.pid if proc.parent else 0) == process.parent
            assert (proc.xstate, proc.space.size) == (process.status, process.size)
            self.compare_memory(proc.space, process)
        frames = self.agents.frames
        assert frames.total - frames.free_frames == self.model.frames_in_use()

    def compare_memory(self, space, process):
        found = {va: page for va, page in view(space).items() if va < TRAPFRAME}
        assert found.keys() == process.pages.keys()
        for va, page in process.pages.items():
            data, rights = found[va]
            if page.right == GUARD:
                assert not rights & PTE_U
            else:
                assert rights == RIGHTS[page.right]
                assert data == page.data or va == self.model.stack
        mapped = sum(va < process.size and page.right != GUARD for va, page in process.pages.items())
        assert space.mapped_pages() == mapped

    def teardown(self):
        """The books balance, and with everybody gone all frames but init's are back."""
        if not hasattr(self, "agents"):
            return
        procs = self.agents.procs
        self.agents.kernel.audit()
        for proc in procs:
            if proc is not self.agents.init and proc.state is not State.ZOMBIE:
                procs.exit(proc, 0)
        for proc in procs:
            if proc is not self.agents.init:
                procs.reap(proc)
        self.agents.kernel.audit()


def signed(word):
    return word - (1 << 64) if word >> 63 else word
