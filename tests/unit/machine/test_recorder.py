"""The hart that tells which pages it uses."""

import pytest
from support import DATA, run_code

from nexemu.errors import OperatorError

EXIT = "li a0, 0; li a7, 3; ecall"
PID = 3
TEXT_PAGE, DATA_PAGE = PID << 26, PID << 26 | DATA >> 12


def test_code_and_data_are_told_in_the_order_of_their_use(assemble):
    pages = []
    code = assemble(f"lui a1, {DATA >> 12}; lw a2, 0(a1); sw a2, 8(a1); j on; on: {EXIT}")
    run_code(code, record=pages.append)
    assert pages == [TEXT_PAGE, DATA_PAGE, TEXT_PAGE]


@pytest.mark.parametrize("refused", [TEXT_PAGE, DATA_PAGE])
def test_what_the_writer_raises_comes_out_of_the_run(assemble, refused):
    """It is called from C, where an error would be printed and lost."""

    def write(page):
        if page == refused:
            raise OperatorError("no space left")

    with pytest.raises(OperatorError, match="no space left"):
        run_code(assemble(f"lui a1, {DATA >> 12}; lw a2, 0(a1); j on; on: {EXIT}"), record=write)
