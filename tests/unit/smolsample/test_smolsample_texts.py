"""Which tokens samples decode: smolprobe's when greedy, the same for the same seed, others for another."""

import numpy as np
import pytest
from smolprobe_machine import smolprobe
from smolsample_machine import run

from nexemu.model.assets import AssetFolder
from nexemu.model.reference import Reference
from nexemu.param import RAM_BYTES_WITH_MODEL


def sample(image, *options, prompt="1,2,3", generate=9, **machine):
    words = ("--prompt-tokens", prompt, "--gen-len", str(generate), *options)
    ran = run("smolsample", *words, image=image, **machine)
    assert ran.status == 0, ran.output
    return ran.tokens("sample")


@pytest.mark.parametrize("prompt", ["5", "1,2,3", ",".join(["7"] * 40)])
def test_greedy_samples_are_smolprobes_tokens(tiny, prompt):
    greedy = smolprobe("--prompt-tokens", prompt, "--gen-len", "20", image=tiny).generated
    assert sample(tiny, "--temperature", "0", prompt=prompt, generate=20) == [greedy] * 4


@pytest.mark.parametrize(("lazy", "cow"), [(True, False), (False, True), (False, False)])
def test_samples_are_the_same_however_memory_is_shared(tiny, lazy, cow):
    assert sample(tiny, lazy=lazy, cow=cow) == sample(tiny)
    assert sample(tiny, "--keep", "--kv-offset", "4080", lazy=lazy, cow=cow) == sample(tiny)


def test_the_same_seed_gives_the_same_samples_and_another_gives_others(tiny):
    assert sample(tiny, "--seed", "7") == sample(tiny, "--seed", "7")
    assert sample(tiny, "--seed", "7") != sample(tiny, "--seed", "8")
    assert sample(tiny, "--seed", "1") == sample(tiny)


def test_samples_of_one_run_differ(tiny):
    tokens = sample(tiny, "--samples", "8")
    assert len({tuple(sample) for sample in tokens}) == 8


def test_a_sample_is_the_same_whoever_else_is_there(tiny):
    assert sample(tiny, "--samples", "2") == sample(tiny, "--samples", "7")[:2]


def test_samples_do_not_see_each_others_tokens(tiny):
    """Each of a sample's tokens is likely after its own tokens, by a model that sees no others: among the
    top_k, but for roundings of logits that are equal but for them."""
    reference = Reference(AssetFolder(tiny))
    for tokens in sample(tiny, "--top-k", "5", "--top-p", "1", "--temperature", "100", generate=30):
        reference.position = 0
        for token in (1, 2):
            reference.forward(token)
        for before, chosen in zip((3, *tokens), tokens, strict=False):
            logits = reference.forward(before)
            assert logits[chosen] > np.sort(logits)[-5] - 1e-3 * np.abs(logits).max()


@pytest.mark.model
@pytest.mark.slow
def test_greedy_samples_of_smollm2_know_the_capital_of_france(smollm2):
    ran = run(
        *("smolsample", "--prompt", "The capital of France is", "--gen-len", "5", "--temperature", "0"),
        *("--samples", "2"),
        image=smollm2,
        memory=RAM_BYTES_WITH_MODEL,
    )
    assert ran.tokens("sample") == [[7042, 30, 198, 198, 504]] * 2
