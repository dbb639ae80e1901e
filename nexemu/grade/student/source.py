"""A student's handler.py: from its text to its functions, and what their exceptions look like.

Imported by whoever executes the text, a sandbox or ``nexemu run`` itself, and therefore by nothing
heavier than what a handler needs.
"""

import linecache
import traceback
from collections.abc import Callable, Mapping, Sequence
from operator import index
from typing import Any, Final, NamedTuple, SupportsIndex

from nexemu.errors import GuestError, OperatorError
from nexemu.grade.kit import Space
from nexemu.grade.primitive import Function, Kernel
from nexemu.riscv import Access

MOST_LINES: Final = 30
"""Lines of a traceback that are kept; its end says what happened."""


class HandlerFailed(OperatorError):
    """The handler did what no handler may do; the text is what its author should see."""


class Loaded(NamedTuple):
    """A handler that can be called, and the name of its file."""

    name: str
    functions: Mapping[Function, Callable[..., Any]]


def load(text: str, name: str) -> Loaded:
    """Execute ``text``, calling it ``name``, and return the functions of the lab. Raises HandlerFailed."""
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    found: dict[str, Any] = {"__name__": "handler", "__file__": name}
    try:
        exec(compile(text, name, "exec"), found)  # noqa: S102 - that is what it is for
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise HandlerFailed(own_traceback(error, name)) from error
    missing = [function.called for function in Function if not callable(found.get(function.called))]
    if missing:
        raise HandlerFailed(f"{name} defines no {', '.join(f'{each}()' for each in missing)}")
    return Loaded(name, {function: found[function.called] for function in Function})


def answer(
    handler: Loaded, function: Function, kernel: Kernel, handles: Sequence[int], a: int, b: int
) -> int:
    """Call one of the functions on the spaces behind ``handles``; what ``sbrk`` returns, else 0. Raises
    GuestError where the handler says no, HandlerFailed where it breaks."""
    spaces = [Space(kernel, handle) for handle in handles]
    try:
        value = handler.functions[function](*spaces, *arguments(function, a, b))
        return _old_break(value) if function is Function.SBRK else 0
    except (GuestError, HandlerFailed, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise HandlerFailed(own_traceback(error, handler.name)) from error


def _old_break(value: Any) -> int:
    """What sbrk returned, as a number."""
    if isinstance(value, SupportsIndex):
        return index(value)
    what = "nothing" if value is None else f"a {type(value).__name__}"
    raise HandlerFailed(f"sbrk returned {what}; it must return the old break, a number of bytes")


def arguments(function: Function, a: int, b: int) -> tuple[Any, ...]:
    """What ``function`` is given beside its spaces: a number of bytes, or an address and an access."""
    match function:
        case Function.PAGE_FAULT:
            return a, Access(b)
        case Function.SBRK | Function.PREPARE_COPYIN | Function.PREPARE_COPYOUT:
            return (a,)
        case _:
            return ()


def own_traceback(error: BaseException, name: str) -> str:
    """``error`` as Python shows it, without the frames that are not of ``name``."""
    try:
        told = traceback.TracebackException.from_exception(error)
        own = [frame for frame in told.stack if frame.filename == name]
        told.stack = traceback.StackSummary.from_list(own)
        lines = "".join(told.format(chain=False)).splitlines()
    except Exception:  # noqa: BLE001 - an exception class of the handler's own may do anything
        lines = [f"{type(error).__name__}, which cannot be shown"]
    return "\n".join(lines[-MOST_LINES:])
