"""Which pages a machine uses, one after the other: its reference string.

Under a TLB of our own, Unicorn tells of data by physical address and of code by virtual address. So
which page a frame holds is noted when the TLB is filled; the TLB is empty after each change of
address space, so a frame that two processes share is always the page of the one that runs.
"""

from collections.abc import Callable
from typing import TypeAlias

from nexemu.machine.core import Core, Space
from nexemu.machine.engine import Ram
from nexemu.machine.hart import Hart
from nexemu.riscv import PA, VA

Write: TypeAlias = Callable[[int], None]


class RecordingHart(Hart):
    """Tells ``write`` of each page that is used: ``pid << 26 | virtual page``. A page that is used several
    times in a row is told of once. What the kernel copies for a program is not seen."""

    def __init__(self, ram: Ram, write: Write) -> None:
        self._write = write
        self._last = -1
        super().__init__(ram)

    def _new_core(self) -> Core:
        return RecordingCore(self._ram, self._on_exception, self._use)

    def _use(self, page: int) -> None:
        if page != self._last:
            self._last = page
            try:
                self._write(page)
            except BaseException as error:  # noqa: BLE001 - run() raises it again, out of C's reach
                self.interrupt(error)


class RecordingCore(Core):
    """Tells ``use`` of each page that is used."""

    def __init__(self, ram: Ram, on_exception: Callable[[int, int, object], None], use: Write) -> None:
        super().__init__(ram, on_exception)
        self._use = use
        self._page_of: dict[int, int] = {}
        self._pages = 0  # the number of the running process's page 0
        self.engine.watch(self._on_block, self._on_memory)

    def enter(self, space: Space) -> None:
        super().enter(space)
        self._pages = space.pid << 26

    def _on_tlb_miss(self, engine: int, va: VA, access: int, where: int, data: object) -> bool:
        found = super()._on_tlb_miss(engine, va, access, where, data)
        if found:
            self._page_of[self._results[where][0] >> 12] = self._pages | va >> 12
        return found

    def _on_block(self, _engine: int, va: VA, _size: int, _data: object) -> None:
        """Unicorn is about to run the code at ``va``."""
        self._use(self._pages | va >> 12)

    def _on_memory(self, _engine: int, _kind: int, pa: PA, _size: int, _value: int, _data: object) -> None:
        """Unicorn loads or stores at ``pa``, in a frame that the TLB knows."""
        self._use(self._page_of[pa >> 12])
