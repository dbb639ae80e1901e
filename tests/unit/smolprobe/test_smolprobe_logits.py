"""The guest's logits, on the machine, against the float32 reference on the same weights."""

import numpy as np
import pytest
from smolprobe_machine import smolprobe

from nexemu.model.assets import AssetFolder
from nexemu.model.reference import Reference
from nexemu.param import RAM_BYTES_WITH_MODEL

CLEAR = 0.3
"""A gap between the two best logits that int8 weights leave standing."""

CONTINUATIONS = [  # in float32 on the weights before they became int8, with each token's gap
    ((504, 3575, 282, 4649, 314), ((7042, 2.48), (30, 1.28), (198, 1.43), (198, 1.34), (504, 0.84))),
    ((1, 2, 3), ((79, 0.40), (100, 0.39), (43405, 1.48), (198, 0.03), (198, 2.61))),
    ((19556, 5), ((198, 1.19), (1, 1.19), (520, 2.04), (9531, 12.07), (198, 8.35))),
]


def decode(image, prompt, count, **machine):
    """The logits of each generated token, and the tokens."""
    csv = ",".join(map(str, prompt))
    options = ("--prompt-tokens", csv, "--gen-len", str(count), "--dump-logits", "LOGITS")
    ran = smolprobe(*options, image=image, **machine)
    assert ran.status == 0, ran.output
    return np.frombuffer(ran.file(b"/LOGITS"), "<f4").reshape(count, -1), ran.generated


def reference_logits(reference, prompt, generated):
    """What the reference says at each of the guest's steps, following the guest's choices."""
    reference.position = 0
    logits = [reference.forward(token) for token in (*prompt, *generated[:-1])]
    return np.array(logits[len(prompt) - 1 :])


@pytest.mark.parametrize("prompt", [(5,), (1, 2, 3), tuple(range(40))])
def test_logits_of_a_small_model(tiny, prompt):
    logits, generated = decode(tiny, prompt, 20)
    expected = reference_logits(Reference(AssetFolder(tiny)), prompt, generated)
    assert np.abs(logits - expected).max() < 5e-4 * np.abs(expected).max()
    assert generated == logits.argmax(axis=1).tolist()


def test_the_whole_of_the_cache_is_used(tiny):
    """The last position attends to the first; 64 of them fit."""
    first, _ = decode(tiny, (1, *[7] * 62), 1)
    other, _ = decode(tiny, (2, *[7] * 62), 1)
    expected = reference_logits(Reference(AssetFolder(tiny)), (1, *[7] * 62), [0])
    assert np.abs(first - expected).max() < 5e-4 * np.abs(expected).max()
    assert np.abs(first - other).max() > 1e-3


def test_the_first_of_equal_logits_wins(tiny, tmp_path):
    """With a final norm of zeros every logit is zero."""
    (tmp_path / "NRM.BIN").write_bytes(bytes(256))
    for file in tiny.iterdir():
        if file.name != "NRM.BIN":
            (tmp_path / file.name).symlink_to(file)
    logits, generated = decode(tmp_path, (1, 2, 3), 2)
    assert not logits.any()
    assert generated == [0, 0]


@pytest.fixture(scope="module")
def reference(smollm2):
    return Reference(AssetFolder(smollm2))


def deviations(logits, expected):
    """Of each step: the root mean square of what differs, but for a constant, which changes no choice."""
    return (logits - expected).std(axis=1)


@pytest.mark.model
@pytest.mark.slow
@pytest.mark.parametrize(("prompt", "continuation"), CONTINUATIONS)
def test_logits_of_smollm2(smollm2, reference, prompt, continuation):
    logits, generated = decode(smollm2, prompt, len(continuation), memory=RAM_BYTES_WITH_MODEL)
    expected = reference_logits(reference, prompt, generated)
    assert np.median(deviations(logits, expected)) < 0.02  # the logits' own deviation is about 7
    assert deviations(logits, expected).max() < 0.15
    second, best = np.partition(expected, -2, axis=1)[:, -2:].T
    clear = best - second > CLEAR
    assert clear.any()
    assert (np.array(generated) == expected.argmax(axis=1))[clear].all()


@pytest.mark.model
@pytest.mark.slow
@pytest.mark.parametrize(("prompt", "continuation"), CONTINUATIONS)
def test_smollm2_goes_on_as_in_float32(smollm2, prompt, continuation):
    _, generated = decode(smollm2, prompt, len(continuation), memory=RAM_BYTES_WITH_MODEL)
    for token, (wanted, gap) in zip(generated, continuation, strict=True):
        if token != wanted:
            assert gap < CLEAR
            break  # from here on it is another text


@pytest.mark.model
@pytest.mark.slow
def test_smollm2_knows_the_capital_of_france(smollm2):
    options = ("--prompt", "The capital of France is", "--gen-len", "5", "--show-text")
    ran = smolprobe(*options, image=smollm2, memory=RAM_BYTES_WITH_MODEL)
    assert ran.generated == [7042, 30, 198, 198, 504]
    assert " Paris.\n\nThe\n[smolprobe] SUMMARY" in ran.output
