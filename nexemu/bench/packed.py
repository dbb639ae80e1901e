"""The floor of a language model's token: its multiply-adds and nothing else, under bare Unicorn.

The loop is smolprobe's own, compiled alone (smolprobe/packed_loop.c): as many rows and columns as the
model's matrices have, from as much memory; no embedding is looked up, no attention paid, nothing
normalised. Of a kernel it needs two calls, which are answered here.
"""

from pathlib import Path
from time import thread_time
from typing import Final

from nexemu.bench.assembler import A0, A1, A2, A7, SP
from nexemu.machine.bare import BareMachine
from nexemu.mem.phys import PhysicalMemory
from nexemu.proc.elf import read_executable
from nexemu.riscv import PGSIZE, pgroundup

WRITE, SBRK = 1, 4
"""Numbers of abi.NEXOS."""
ENDLESS: Final = b"1000000\0"
"""How many tokens the loop is asked for."""
POINTER_BYTES: Final = 8


class PackedLoop:
    """A bare machine in the middle of ``program``, which writes a line after each token's multiply-adds.
    ``memory`` is for its weights and all else."""

    def __init__(self, program: Path, memory: int) -> None:
        ram = PhysicalMemory(pgroundup(memory), base=0)  # addresses are as the program was linked
        content = program.read_bytes()
        executable = read_executable(memoryview(content), apart=True)
        for segment in executable.segments:
            ram.write(segment.vaddr, content[segment.offset : segment.offset + segment.filesz])
        self._break = pgroundup(executable.segments[-1].end)
        self._machine = BareMachine(ram)
        self._pc = executable.entry
        self._start_with_argument(ram, ram.end - PGSIZE)

    def _start_with_argument(self, ram: PhysicalMemory, top: int) -> None:
        """``argv`` and the one argument that counts, from ``top`` on; the stack below."""
        argv = top + len(ENDLESS)
        ram.write(top, ENDLESS)
        ram.write(argv + POINTER_BYTES, top.to_bytes(POINTER_BYTES, "little"))
        self._machine.set_registers({A0: 2, A1: argv, SP: top})

    def sample(self) -> float:
        """The processor time of one token's multiply-adds: from one written line to the next."""
        start = thread_time()
        while self._serve_call() != WRITE:
            pass
        return thread_time() - start

    def _serve_call(self) -> int:
        """Run to the next system call and answer it; its number."""
        machine = self._machine
        machine.run(self._pc)
        self._pc = machine.pc
        call = machine.read_register(A7)
        assert call in (WRITE, SBRK), f"the loop made system call {call}"
        if call == SBRK:
            answer, self._break = self._break, self._break + machine.read_register(A0)
        else:
            answer = machine.read_register(A2)  # all that was to be written
        machine.set_registers({A0: answer})
        return call
