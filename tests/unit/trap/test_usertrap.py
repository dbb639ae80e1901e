"""What kills a process, and what the person at the host is told of it."""

import pytest
from support import DATA, SWITCH_IDS, SWITCHES, run_code

from nexemu.events import BadAccess, PageFault
from nexemu.riscv import PGSIZE

TOP = DATA + 3 * PGSIZE
"""The break: behind a page of data, the guard page and the stack."""
GUARD = DATA + PGSIZE


@pytest.fixture
def kill(assemble):
    """Run lines that must kill their process; the one BadAccess event, and the run."""

    def run(text, **how):
        done = run_code(assemble(text), **how)
        assert done.status == -1
        (event,) = done.events.of(BadAccess)
        (line,) = done.log
        return event, line

    return run


# ---- cause, sepc, stval as the ISA has them -----------------------------------------------------

REGISTERS = [f"x{number}" for number in range(1, 32)]


@pytest.mark.parametrize("base", REGISTERS)
def test_stval_is_the_byte_for_every_base_register(kill, base):
    event, _ = kill(f"li {base}, {1 << 32}; lw zero, 12({base})")
    assert event.cause == 13
    assert event.stval == (1 << 32) + 12


@pytest.mark.parametrize(
    ("text", "cause", "offset"),
    [
        *[
            (f"{op} a0, {offset}(s1)", 13, offset)
            for op in ("lb", "lhu", "lw", "ld")
            for offset in (0, 2047, -2048)
        ],
        *[
            (f"{op} a0, {offset}(s1)", 15, offset)
            for op in ("sb", "sh", "sw", "sd")
            for offset in (0, 2047, -2048)
        ],
        ("fld fa0, 8(s1)", 13, 8),
        ("fsw fa0, 8(s1)", 15, 8),
        ("c.lw a0, 124(s1)", 13, 124),
        ("c.sw a0, 124(s1)", 15, 124),
        ("c.ld a0, 248(s1)", 13, 248),
        ("c.sd a0, 248(s1)", 15, 248),
        ("lr.w a0, (s1)", 13, 0),
        ("amoadd.w a0, a1, (s1)", 15, 0),
        ("amoswap.d.aqrl a0, a1, (s1)", 15, 0),
        ("amomaxu.w a0, a1, (s1)", 15, 0),
    ],
)
def test_a_load_a_store_and_an_atomic(kill, text, cause, offset):
    """An AMO's fault is a store/AMO page fault, though its first access is a load."""
    where = 0x10_0000_0000
    event, _ = kill(f"li s1, {where}; nop; {text}; nop")
    assert (event.cause, event.stval) == (cause, where + offset)
    assert event.why.startswith("load" if cause == 13 else "store")
    assert event.instruction.split()[0].removeprefix("c.") == text.split()[0].removeprefix("c.")


def test_sc_to_text_is_a_store_page_fault(kill):
    event, _ = kill("li s1, 8; lr.w a1, (s1); sc.w a0, a1, (s1)")
    assert (event.cause, event.sepc, event.stval) == (15, 8, 8)
    assert "program text" in event.why


def test_sc_without_a_reservation_fails_without_an_access(assemble):
    """It need not fault: the ISA leaves that open. It must not store."""
    run = run_code(assemble(f"li s1, {DATA}; li a1, 5; sc.w a0, a1, (s1); lw a0, 0(s1); li a7, 3; ecall"))
    assert run.status == 0


@pytest.mark.parametrize(
    ("text", "size"), [("c.lwsp a0, 16(sp)", 2), ("c.sdsp a0, 24(sp)", 2), ("lw a0, 16(sp)", 4)]
)
def test_sepc_is_on_the_instruction(kill, text, size):
    lead = "li sp, 0x7000; slli sp, sp, 20; c.nop"
    event, _ = kill(f"{lead}; {text}; nop")
    plain, _ = kill(f"{lead}; ebreak")
    assert event.sepc == plain.sepc
    assert event.stval == (0x7000 << 20) + int(text.split()[2].split("(")[0])


@pytest.mark.parametrize("width", [("sd", 8, 15), ("sw", 4, 15), ("sh", 2, 15), ("ld", 8, 13), ("lw", 4, 13)])
def test_an_access_across_pages_whose_second_is_missing_names_the_second(kill, width):
    op, size, cause = width
    event, _ = kill(f"li s1, {TOP - size // 2}; {op} a0, 0(s1)")
    assert (event.cause, event.stval) == (cause, TOP)


def test_an_access_across_pages_whose_first_is_missing_names_its_first_byte(kill):
    event, _ = kill(f"li s1, {DATA - 4}; ld a0, 0(s1)", lazy=False)
    assert event.stval == DATA - 4


@pytest.mark.parametrize(
    ("jump", "target"),
    [
        ("li t0, 0x40000000; jr t0", 0x4000_0000),
        (f"li t0, {DATA + 8}; jr t0", DATA + 8),
        (f"li t0, {TOP - 8}; c.jr t0", TOP - 8),
        (f"li t0, {GUARD}; jr t0", GUARD),
        ("li t0, -2; jr t0", (1 << 64) - 2),
        ("li t0, 0x3ffffff000; jr t0", 0x3F_FFFF_F000),
    ],
)
def test_a_jump_to_what_is_no_code_has_sepc_and_stval_on_the_target(kill, jump, target):
    event, line = kill(jump)
    assert (event.cause, event.sepc, event.stval) == (12, target, target)
    assert "instruction page fault (scause 12)" in line


@pytest.mark.parametrize(
    ("text", "cause", "instruction"),
    [
        ("ebreak", 3, "ebreak"),
        ("c.ebreak", 3, "c.ebreak"),
        ("csrr a0, sstatus", 2, "csr"),
        ("sret", 2, "sret"),
        (".word 0xffffffff", 2, ".word 0xffffffff"),
        ("rdcycle a0", 2, ""),
        ("rdinstret a0", 2, ""),
    ],
)
def test_what_no_handler_can_help(kill, text, cause, instruction):
    event, line = kill(f"nop; {text}; nop")
    assert (event.cause, event.sepc, event.stval) == (cause, 4, 0)
    assert event.instruction.startswith(instruction)
    assert f"(scause {cause})" in line


# ---- why, in words ----------------------------------------------------------------------------


@pytest.mark.parametrize(("lazy", "cow"), SWITCHES, ids=SWITCH_IDS)
@pytest.mark.parametrize(
    ("address", "access", "why"),
    [
        (TOP, "store", "an address above the break (0x13000); grow it with sbrk first"),
        (TOP + 100, "load", "above the break (0x13000)"),
        (GUARD + 8, "load", "guard page"),
        (GUARD + 8, "store", "guard page"),
        (0, "store", "program text (R-X)"),
        (TOP + (1 << 32), "load", "nothing maps: the break is 0x13000"),
        (0x3F_FFFF_E000, "load", "trapframe"),
        (0x3F_FFFF_FFF8, "store", "trampoline"),
        (1 << 38, "load", "at or beyond MAXVA (0x4000000000)"),
        (1 << 63, "store", "at or beyond MAXVA"),
    ],
)
def test_a_bad_address_is_explained(kill, lazy, cow, address, access, why):
    op = "sb" if access == "store" else "lb"
    event, line = kill(f"li s1, {address}; {op} a0, 0(s1)", lazy=lazy, cow=cow)
    assert why in event.why
    assert event.why.startswith("store to" if access == "store" else "load from")
    assert event.stval == address
    assert why in line


def test_the_line_names_pid_program_cause_sepc_stval_and_the_instruction(kill):
    _, line = kill("li s1, 0x7000; slli s1, s1, 20; nop; sw a0, 12(s1)")
    assert line.startswith(
        "pid 3 init: killed by store page fault (scause 15) sepc=0xc stval=0x70000000c: sw a0, 0xc(s1): "
        "store to an address that nothing maps"
    )
    assert "\n" not in line


def test_the_guests_console_stays_clean(assemble):
    assert run_code(assemble("li a0, -8; lw a0, 0(a0)")).text == ""


def test_running_out_of_memory_is_said_as_such(assemble):
    """Lazy: 4,096 pages are promised on a machine that has fewer."""
    grow = "li a0, 0x1000000; li a7, 4; ecall; li t0, 4096; li t1, 0x1000000; add t1, t1, a0"
    run = run_code(
        assemble(f"{grow}; next: sw t0, 0(a0); add a0, a0, t0; bltu a0, t1, next"),
        memory=8 << 20,
        check=False,
    )
    assert run.status == -1
    (event,) = run.events.of(BadAccess)
    assert event.cause == 15
    assert "no frame is left" in event.why
    assert event.stval == run.events.of(PageFault)[-1].va + PGSIZE


# ---- what is served ---------------------------------------------------------------------------


def test_a_store_one_byte_below_the_break_lives(assemble):
    for lazy, cow in SWITCHES:
        run = run_code(
            assemble(f"li s1, {TOP - 1}; sb a0, 0(s1); li a0, 5; li a7, 3; ecall"), lazy=lazy, cow=cow
        )
        assert (run.status, run.log) == (5, [])


@pytest.mark.parametrize("register", ["a0", "t6", "ra", "s11"])
def test_rdtime_gives_virtual_time(assemble, register):
    """Every trap costs 1,000 cycles: the first rdtime comes after one, the second after two."""
    text = f"rdtime {register}; mv s0, {register}; rdtime a0; sub a0, a0, s0; li a7, 3; ecall"
    assert run_code(assemble(text)).status == 1000


@pytest.mark.parametrize("lead", ["", "c.nop;"])
def test_rdtime_goes_on_behind_itself_at_either_alignment(assemble, lead):
    assert run_code(assemble(f"{lead} rdtime zero; li a0, 4; rdtime zero; li a7, 3; ecall")).status == 4


def test_rdtime_across_pages(assemble):
    code = assemble("rdtime a0; li a0, 6; li a7, 3; ecall")
    filler = assemble("c.nop") * ((PGSIZE - 2) // 2)
    assert run_code(filler + code).status == 6


def test_time_and_uptime_are_one_clock(assemble):
    """sleep(3) on an idle machine jumps to tick 3; time is then at or just past 3,000,000 cycles."""
    sleep = "li a0, 3; li a7, 13; ecall"
    assert run_code(assemble(f"{sleep}; li a7, 14; ecall; li a7, 3; ecall")).status == 3
    late = run_code(assemble(f"{sleep}; rdtime a0; li t0, 3000000; sub a0, a0, t0; li a7, 3; ecall")).status
    assert 0 <= late < 10_000


@pytest.mark.parametrize(
    "text", ["csrw time, a0", "csrrwi zero, time, 1", "csrrs a0, time, a1", "csrrc a0, time, a1"]
)
def test_time_cannot_be_written(kill, text):
    event, _ = kill(f"li a1, 1; {text}")
    assert event.cause == 2


# ---- shrinking below the heap -----------------------------------------------------------------


@pytest.mark.parametrize(("lazy", "cow"), SWITCHES, ids=SWITCH_IDS)
def test_a_program_may_give_its_own_text_back_and_dies_at_the_next_fetch(kill, lazy, cow):
    """ABI.md section 4: nothing stops sbrk from going below the start of the heap."""
    event, _ = kill(f"li a0, -{TOP}; li a7, 4; ecall; nop; li a7, 3; ecall", lazy=lazy, cow=cow, check=False)
    assert event.cause == 12
    assert event.stval == event.sepc < PGSIZE


@pytest.mark.parametrize(("lazy", "cow"), SWITCHES, ids=SWITCH_IDS)
def test_what_was_stack_and_data_comes_back_as_zeros(assemble, lazy, cow):
    give = f"li s0, {DATA}; li t0, 7; sw t0, 0(s0); li a0, {0x1000 - TOP}; li a7, 4; ecall"
    text = f"{give}; li a0, {TOP - 0x1000}; ecall; lw a0, 0(s0); addi a0, a0, 5; li a7, 3; ecall"
    run = run_code(assemble(text), lazy=lazy, cow=cow, check=False)
    assert (run.status, run.log) == (5, [])
