"""Demo 1: an address through a page table, a token through a block table: the machine's own tables."""

from collections.abc import Mapping, Sequence
from typing import Final

from nexemu.kv.block_table import BlockTable, Place
from nexemu.lab.experiment import Experiment, Trial
from nexemu.lab.report import Check, Report, Table
from nexemu.mem.kalloc import FrameAllocator
from nexemu.mem.phys import PhysicalMemory
from nexemu.mem.sv39 import PageTable
from nexemu.riscv import PGMASK, PGSIZE, PTE_R, PTE_U, PTE_V, pte2pa

PAGES: Final[Mapping[int, int]] = {0: 7, 1: 3, 2: 12, 3: 5}
BLOCKS: Final = (9, 2, 31)
BLOCK_TOKENS: Final = 16
ADDRESSES: Final = (0, 5_000, 12_287, 16_383, 20_000)
TOKENS: Final = (0, 15, 16, 37, 47)


def translate(pages: Mapping[int, int], addresses: Sequence[int]) -> list[int | None]:
    """The physical address of each virtual one, None for a page fault, by an Sv39 table in RAM."""
    table = PageTable(FrameAllocator(PhysicalMemory(1 << 21)))
    for page, frame in pages.items():
        table.mappages(page * PGSIZE, PGSIZE, frame * PGSIZE, PTE_R | PTE_U)
    ptes = [table.pte(va) for va in addresses]
    return [
        pte2pa(pte) + (va & PGMASK) if pte & PTE_V else None for va, pte in zip(addresses, ptes, strict=True)
    ]


def place_of(blocks: Sequence[int], token: int, block_tokens: int = BLOCK_TOKENS) -> Place:
    """The physical block and slot of a token, by a block table of the KV cache."""
    tokens = list(range(len(blocks) * block_tokens))
    return BlockTable(block_tokens, tokens, list(blocks)).translate(token)


def translation(trial: Trial) -> Report:
    """Both of the demo's tables."""
    physical = dict(zip(ADDRESSES, translate(PAGES, ADDRESSES), strict=True))
    places = {token: place_of(BLOCKS, token) for token in TOKENS}
    return Report(
        "A block table is a page table: blocks are pages, tokens are bytes. What is contiguous to the "
        "program may lie anywhere, and a page that is not in the table is a page fault.",
        [
            Table(
                "Page table 0 -> 7, 1 -> 3, 2 -> 12, 3 -> 5, pages of 4096",
                ("virtual address", "page", "offset", "physical address"),
                [(va, va // PGSIZE, va % PGSIZE, _or_fault(pa)) for va, pa in physical.items()],
            ),
            Table(
                "Block table 0 -> 9, 1 -> 2, 2 -> 31, blocks of 16",
                ("token", "logical block", "physical block", "slot"),
                [(token, token // BLOCK_TOKENS, *place) for token, place in places.items()],
            ),
        ],
        [
            Check("virtual address 5000 is at", 13192, _or_fault(physical[5000])),
            Check("virtual address 20000", "page fault", _or_fault(physical[20000])),
            Check("token 37 is in physical block", 31, places[37].block),
            Check("token 37 is in slot", 5, places[37].slot),
        ],
    )


def _or_fault(address: int | None) -> int | str:
    return "page fault" if address is None else address


TRANSLATION: Final = Experiment("Address translation", "code 03, demo 1", translation)
