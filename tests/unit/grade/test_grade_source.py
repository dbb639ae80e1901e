"""A handler's text: what it must define, and what its mistakes look like."""

import pytest

from nexemu.errors import BadAddress, BadCall
from nexemu.grade.primitive import Function
from nexemu.grade.student.source import MOST_LINES, HandlerFailed, answer, load

ALL = "sbrk = page_fault = prepare_copyin = prepare_copyout = fork_copy = release = lambda *given: given\n"


def failure(text, function=Function.RELEASE):
    """What is said when ``text`` is loaded and ``function`` called."""
    with pytest.raises(HandlerFailed) as caught:
        answer(load(text, "handler.py"), function, None, [1], 5, 23)
    return str(caught.value)


def test_all_functions_must_be_there():
    text = "def sbrk(space, n): ...\nrelease = 5\n"
    with pytest.raises(HandlerFailed) as caught:
        load(text, "handler.py")
    assert str(caught.value) == (
        "handler.py defines no page_fault(), prepare_copyin(), prepare_copyout(), fork_copy(), release()"
    )


def test_a_mistake_is_shown_by_the_handlers_own_lines():
    text = ALL + "def helper():\n    return 1 / 0\n\ndef release(space):\n    helper()\n"
    assert failure(text).splitlines() == [
        "Traceback (most recent call last):",
        '  File "handler.py", line 6, in release',
        "    helper()",
        '  File "handler.py", line 3, in helper',
        "    return 1 / 0",
        "           ~~^~~",
        "ZeroDivisionError: division by zero",
    ]


def test_a_syntax_error_is_shown_where_it_is():
    lines = failure("def sbrk(:\n").splitlines()
    assert lines[-4:-1] == ['  File "handler.py", line 1', "    def sbrk(:", "             ^"]
    assert lines[-1] == "SyntaxError: invalid syntax"


def test_a_deep_recursion_is_cut():
    text = ALL + "def release(space):\n    release(space)\n"
    lines = failure(text).splitlines()
    assert len(lines) <= MOST_LINES
    assert lines[-1].startswith("RecursionError")


def test_leaving_is_a_mistake_too():
    assert failure(ALL + "def release(space):\n    raise SystemExit(0)\n").endswith("SystemExit: 0")
    assert "SystemExit" in failure("raise SystemExit(0)")


def test_an_exception_that_cannot_be_shown_is_named():
    text = (
        ALL
        + "class Odd(Exception):\n    def __str__(self): raise self\n\ndef release(space):\n    raise Odd\n"
    )
    assert "Odd" in failure(text)


def test_saying_no_is_no_mistake():
    text = ALL + "from nexemu.grade.kit import BadAddress, BadCall\n"
    text += (
        "def release(space):\n    raise BadAddress(5, 'no')\ndef sbrk(space, n):\n    raise BadCall('no')\n"
    )
    handler = load(text, "handler.py")
    with pytest.raises(BadAddress):
        answer(handler, Function.RELEASE, None, [1], 0, 0)
    with pytest.raises(BadCall):
        answer(handler, Function.SBRK, None, [1], 0, 0)


@pytest.mark.parametrize(
    ("function", "given"),
    [
        (Function.SBRK, ["Space", 5]),
        (Function.PAGE_FAULT, ["Space", 5, "WRITE"]),
        (Function.PREPARE_COPYIN, ["Space", 5]),
        (Function.PREPARE_COPYOUT, ["Space", 5]),
        (Function.FORK_COPY, ["Space", "Space"]),
        (Function.RELEASE, ["Space"]),
    ],
)
def test_each_function_is_given_what_its_contract_says(function, given):
    seen = []
    handler = load(ALL, "handler.py")
    handler.functions[function] = lambda *values: seen.extend(values) or 0
    handles = [1, 2] if function is Function.FORK_COPY else [1]
    answer(handler, function, None, handles, 5, 23)
    shown = [
        getattr(value, "name", value) if isinstance(value, int) else type(value).__name__ for value in seen
    ]
    assert shown == given


def test_sbrk_must_return_a_number():
    assert failure(ALL + "def sbrk(space, n): return None\n", Function.SBRK).endswith(
        "sbrk returned nothing; it must return the old break, a number of bytes"
    )
