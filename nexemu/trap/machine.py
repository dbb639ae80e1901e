"""What the gate works on: the parts of one machine, owned by the kernel and lent to its calls.

xv6 has these as globals; here two machines can run side by side.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from nexemu.events import Emit
from nexemu.fs.console import Console
from nexemu.fs.file_table import FileTable
from nexemu.fs.ramfs import RamFs
from nexemu.machine.hart import Hart
from nexemu.mem.kalloc import FrameAllocator
from nexemu.mem.pager import Pager
from nexemu.personality import Personality
from nexemu.proc.clock import Clock
from nexemu.proc.table import ProcTable
from nexemu.trap.handler import Call
from nexemu.trap.pipeframes import PipeFrames


@dataclass(frozen=True, slots=True)
class Machine:
    """``calls``: the personality's table, by number. ``log`` takes a line for the person at the host; the
    guest never sees it."""

    frames: FrameAllocator
    hart: Hart
    fs: RamFs
    files: FileTable
    console: Console
    procs: ProcTable
    pipe_frames: PipeFrames
    pager: Pager | None
    clock: Clock
    personality: Personality
    calls: Mapping[int, Call]
    log: Callable[[str], None]
    emit: Emit | None
