"""Counter reads in a program's text: which instructions, at which addresses."""

import pytest

from nexemu.proc.counters import counter_reads

START = 0x1000


@pytest.mark.parametrize(
    "text",
    [
        *(
            "csrr a0, cycle",
            "csrr t6, instret",
            "csrr zero, cycle",
            "csrrw a0, cycle, a1",
            "csrrs a0, cycle, a1",
        ),
        *("csrrc a0, instret, a1", "csrrwi a0, cycle, 3", "csrrsi a0, cycle, 0", "csrrci a0, cycle, 1"),
        *("csrr a0, hpmcounter3", "csrr a0, hpmcounter31", "rdcycle a0", "rdinstret a0"),
    ],
)
def test_every_way_to_read_a_counter_is_found(assemble, text):
    code = assemble(f"nop; c.nop; {text}; nop")
    assert list(counter_reads(code, START)) == [START + 6]


@pytest.mark.parametrize(
    "text", ["rdtime a0", "csrr a0, fcsr", "csrr a0, mcycle", "ecall", "ebreak", "lui a0, 0xc0002"]
)
def test_what_is_no_counter_is_not(assemble, text):
    assert list(counter_reads(assemble(f"{text}; nop; nop"), START)) == []


def test_all_of_them_are_found(assemble):
    code = assemble("rdcycle a0; rdcycle a1; nop; rdinstret a2")
    assert list(counter_reads(memoryview(code), START)) == [START, START + 4, START + 12]


@pytest.mark.parametrize("code", [b"", b"\x73", b"\x73\x25\x00", b"\x13\x00\x00\x00"])
def test_short_or_harmless_code_has_none(code):
    assert list(counter_reads(code, START)) == []
