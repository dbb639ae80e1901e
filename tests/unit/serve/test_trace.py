import json

import pytest

from nexemu.errors import OperatorError
from nexemu.serve.trace import read_trace


@pytest.fixture
def trace(tmp_path):
    def write(*lines):
        path = tmp_path / "trace.jsonl"
        path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines))
        return path

    return write


GOOD = {"timestamp": 0, "input_length": 3, "output_length": 2}


def test_tokens_as_they_stand(trace):
    line = {"timestamp": 1.5, "prompt": [5, 6], "output": [7], "limit": 9, "program": 3, "urgency": 1}
    (request,) = read_trace(trace(line | {"namespace": "a"}))
    assert (list(request.prompt), list(request.output)) == ([5, 6], [7])
    assert request.arrival == 1_500_000
    assert (request.limit, request.program, request.urgency, request.namespace) == (9, 3, 1, "a")


def test_lengths_stand_for_tokens_that_nobody_else_has(trace):
    requests = read_trace(trace(GOOD, GOOD, GOOD | {"prompt": [0, 1, 2]}))
    tokens = [token for request in requests for token in [*request.prompt, *request.output]]
    assert len(tokens) == len(set(tokens)) == 15


def test_equal_hash_ids_are_equal_tokens(trace):
    """As in the Mooncake traces: blocks of 512 tokens."""
    first, second = read_trace(
        trace(
            GOOD | {"input_length": 1200, "hash_ids": [46, 47, 48]},
            GOOD | {"input_length": 1024, "hash_ids": [46, 99]},
        )
    )
    assert (len(first.prompt), len(second.prompt)) == (1200, 1024)
    assert first.prompt[:512] == second.prompt[:512]
    assert not set(first.prompt[512:]) & set(second.prompt[512:])


def test_requests_come_in_the_order_of_their_arrival(trace):
    requests = read_trace(trace(GOOD | {"timestamp": 7}, "", GOOD))
    assert [request.arrival for request in requests] == [0, 7_000_000]


def test_a_byte_order_mark_and_a_namespace_of_null_mean_nothing(tmp_path):
    path = tmp_path / "trace.jsonl"
    path.write_text(json.dumps(GOOD | {"namespace": None}), encoding="utf-8-sig")
    assert [request.namespace for request in read_trace(path)] == [""]


def test_a_line_ends_where_json_lines_end(trace):
    (request,) = read_trace(
        trace('{"timestamp": 0, "input_length": 1, "output_length": 1, "namespace": "\u2028"}')
    )
    assert request.namespace == "\u2028"


def test_a_request_without_limits_may_become_what_it_becomes(trace):
    assert read_trace(trace(GOOD))[0].limit == 2


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("{", "this is no JSON"),
        ("[" * 100_000, "this is no JSON"),
        (f'{{"timestamp": {"9" * 5000}}}', "this is no JSON"),
        ("[1]", "in braces"),
        ({"input_length": 3, "output_length": 2}, "'timestamp' is missing"),
        (GOOD | {"timestamp": -1}, "'timestamp' is -1"),
        (GOOD | {"timestamp": "soon"}, "'timestamp' is \"soon\""),
        (GOOD | {"timestamp": True}, "'timestamp' is true"),
        ('{"timestamp": NaN, "input_length": 3, "output_length": 2}', "'timestamp' is NaN"),
        ({"timestamp": 0, "output_length": 2}, "'input_length' is missing"),
        ({"timestamp": 0, "input_length": 2}, "'output_length' is missing"),
        (GOOD | {"input_length": 0}, "'input_length' is 0; it must be from 1"),
        (GOOD | {"input_length": 10**9}, "from 1 to"),
        (GOOD | {"input_length": 2.5}, "a whole number"),
        (GOOD | {"output_length": 0}, "'output_length' is 0"),
        (GOOD | {"prompt": []}, "'prompt' is empty"),
        (GOOD | {"prompt": "hello"}, "'prompt' must be a list"),
        (GOOD | {"prompt": [1, -1]}, "'prompt' must be a list"),
        (GOOD | {"prompt": [1, True]}, "'prompt' must be a list"),
        (GOOD | {"output": [1 << 40]}, "'output' must be a list"),
        (GOOD | {"input_length": 600, "hash_ids": [1]}, "needs 2 hash_ids, not 1"),
        (GOOD | {"hash_ids": ["a"]}, "'hash_ids' must be a list"),
        (GOOD | {"urgency": -2}, "'urgency' is -2"),
    ],
)
def test_a_bad_line_is_named(trace, line, complaint):
    path = trace(GOOD, line)
    with pytest.raises(OperatorError) as error:
        read_trace(path)
    assert str(error.value).startswith(f"{path}:2: ")
    assert complaint in str(error.value)
    assert "\n" not in str(error.value)


def test_an_empty_trace(trace):
    with pytest.raises(OperatorError, match="no request in this trace"):
        read_trace(trace(""))


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(OperatorError, match="cannot read this trace: No such file"):
        read_trace(tmp_path / "none.jsonl")


def test_a_file_that_is_not_text(tmp_path):
    path = tmp_path / "trace"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(OperatorError, match="it is not text"):
        read_trace(path)
