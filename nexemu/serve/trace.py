"""Request traces from files: JSON, one request a line, as public traces are published.

A line is an object. ``timestamp``: arrival in ms. The prompt is ``prompt``, a list of tokens, or
``input_length`` with, in the format of the Mooncake traces, ``hash_ids``: equal ids stand for equal
blocks of 512 tokens after equal blocks. The output is ``output``, or ``output_length``. Tokens that
only have a length are nobody else's. ``limit``, ``program``, ``urgency``, ``namespace`` may be there.
"""

import json
from array import array
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from nexemu.errors import OperatorError
from nexemu.kv.prefix_cache import Ints
from nexemu.serve.request import MILLISECOND, Request
from nexemu.serve.workload import Writer

HASH_BLOCK: Final = 512
MOST_TOKENS: Final = 1 << 20  # of one request: a typing error should not fill the memory
LARGEST: Final = (1 << 30) - 1  # tokens above it are those that only have a length


class BadLine(Exception):
    """What is wrong with a line."""


def read_trace(path: Path) -> list[Request]:
    """The requests of a trace, in the order of their arrival. Raises OperatorError, naming the line."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise OperatorError(f"{path}: cannot read this trace: {reason}") from error
    requests = _parse(path, text.split("\n"))
    if not requests:
        raise OperatorError(f"{path}: there is no request in this trace")
    return sorted(requests, key=lambda request: request.arrival)


def _parse(path: Path, lines: Iterable[str]) -> list[Request]:
    writer = Writer(0, LARGEST + 1)
    blocks: dict[int, Ints] = {}
    requests = []
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                requests.append(_request(_object(line), writer, blocks, number))
            except BadLine as error:
                raise OperatorError(f"{path}:{number}: {error}") from error
    return requests


def _object(line: str) -> Mapping[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadLine('this is no JSON; each line is one object, such as {"timestamp": 0, ...}') from error
    if not isinstance(value, dict):
        raise BadLine("a request is a JSON object, in braces")
    return value


def _request(fields: Mapping[str, Any], writer: Writer, blocks: dict[int, Ints], number: int) -> Request:
    output = _tokens(fields, "output", "output_length", writer)
    return Request(
        arrival=int(_number(fields, "timestamp", None) * MILLISECOND),
        prompt=_prompt(fields, writer, blocks),
        output=output,
        limit=max(len(output), _whole(fields, "limit", len(output))),
        program=_whole(fields, "program", number),
        urgency=_whole(fields, "urgency", 0),
        namespace=str(fields.get("namespace") or ""),
    )


def _prompt(fields: Mapping[str, Any], writer: Writer, blocks: dict[int, Ints]) -> Ints:
    if "hash_ids" not in fields:
        return _tokens(fields, "prompt", "input_length", writer)
    length = _length(fields, "input_length")
    ids = _integers(fields, "hash_ids")
    if len(ids) != -(-length // HASH_BLOCK):
        raise BadLine(f"input_length {length} needs {-(-length // HASH_BLOCK)} hash_ids, not {len(ids)}")
    tokens = array("i")
    for block in ids:
        if block not in blocks:
            blocks[block] = writer.fresh(HASH_BLOCK)
        tokens += blocks[block]
    return tokens[:length]


def _tokens(fields: Mapping[str, Any], name: str, length: str, writer: Writer) -> Ints:
    if name not in fields:
        return writer.fresh(_length(fields, length))
    tokens = _integers(fields, name)
    if not tokens:
        raise BadLine(f"'{name}' is empty; it needs at least one token")
    return array("i", tokens)


def _integers(fields: Mapping[str, Any], name: str) -> list[int]:
    value = fields[name]
    if not isinstance(value, list) or not all(type(item) is int and 0 <= item <= LARGEST for item in value):
        raise BadLine(f"'{name}' must be a list of whole numbers from 0 to {LARGEST}")
    return value


def _length(fields: Mapping[str, Any], name: str) -> int:
    length = _whole(fields, name, None)
    if not 1 <= length <= MOST_TOKENS:
        raise BadLine(f"'{name}' is {length}; it must be from 1 to {MOST_TOKENS}")
    return length


def _whole(fields: Mapping[str, Any], name: str, default: int | None) -> int:
    value = _number(fields, name, default)
    if value != int(value):
        raise BadLine(f"'{name}' is {value}; it must be a whole number")
    return int(value)


def _number(fields: Mapping[str, Any], name: str, default: int | None) -> float:
    value = fields.get(name, default)
    if value is None:
        raise BadLine(f"'{name}' is missing")
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1e15:
        raise BadLine(f"'{name}' is {json.dumps(value)[:40]}; it must be a number from 0 to 1e15")
    return value
