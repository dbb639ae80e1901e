"""The same work done by public implementations, from checkouts of theirs: nano-vllm and mini-sglang.

Both are parts of packages that want a GPU. Only the two modules that keep the books are loaded here,
unmodified, under packages that are otherwise empty; what they need besides (xxhash, PyTorch, and a
compiler by way of tvm-ffi) has to be installed.
"""

import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from nexemu.bench.probe import NotHere, cpu_seconds
from nexemu.kv.prefix_cache import Ints


def nano_vllm(folder: Path) -> Any:
    """The module nanovllm.engine.block_manager, from ``folder``/nano-vllm. Raises NotHere."""
    package = _checkout(folder, "nano-vllm", "nanovllm")
    _empty("nanovllm", package)
    return _load("nano-vllm", "nanovllm.engine.block_manager")


def mini_sglang(folder: Path) -> Any:
    """The module minisgl.kvcache.radix_cache, from ``folder``/mini-sglang. Its pages have one token. Raises
    NotHere."""
    package = _checkout(folder, "mini-sglang", "python/minisgl")
    _empty("minisgl", package)
    _empty("minisgl.kvcache", package / "kvcache")
    _empty("minisgl.core", package, get_global_ctx=lambda: SimpleNamespace(page_size=1))
    _empty("minisgl.utils", package, align_down=lambda number, step: number // step * step)
    kernel = _empty("minisgl.kernel", package / "kernel")
    kernel.fast_compare_key = _load("mini-sglang", "minisgl.kernel.radix").fast_compare_key
    return _load("mini-sglang", "minisgl.kvcache.radix_cache")


def _checkout(folder: Path, name: str, package: str) -> Path:
    found = folder / name / package
    if not found.is_dir():
        raise NotHere(f"{name}: there is no {found}")
    return found


def _empty(name: str, folder: Path, **contents: Any) -> Any:
    """A package with nothing in it but ``contents``, whose modules lie in ``folder``."""
    package = ModuleType(name)
    package.__path__ = [str(folder)]
    package.__dict__.update(contents)
    sys.modules[name] = package
    return package


def _load(who: str, module: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        raise NotHere(f"{who}: {error}") from error


def append(module: Any, rounds: int, sequences: int, block_tokens: int) -> float:
    """Seconds a token of nano-vllm, ``rounds`` tokens for each of ``sequences``."""
    module.Sequence.block_size = block_tokens
    manager = module.BlockManager((rounds // block_tokens + 2) * sequences, block_tokens)
    running = [module.Sequence([number]) for number in range(sequences)]
    for sequence in running:
        manager.allocate(sequence, 0)
        sequence.num_cached_tokens = 1

    def run() -> None:
        for token in range(rounds):
            for sequence in running:
                sequence.append_token(token)
                if manager.can_append(sequence):
                    manager.may_append(sequence)
                sequence.num_scheduled_tokens = 1
                manager.hash_blocks(sequence)
                sequence.num_cached_tokens += 1

    return cpu_seconds(run) / (rounds * sequences)


def radix(module: Any, prompts: Sequence[Ints], capacity: int) -> float:
    """Seconds a request of mini-sglang, which may keep ``capacity`` tokens."""
    torch = module.torch
    torch.set_num_threads(1)
    requests = [torch.from_numpy(np.array(prompt, dtype=np.int32)) for prompt in prompts]
    cache = module.RadixPrefixCache(torch.device("cpu"))

    def run() -> None:
        for prompt in requests:
            match = cache.match_prefix(prompt).cuda_handle
            cache.lock_handle(match)
            short = len(prompt) - match.cached_len - (capacity - cache.size_info.total_size)
            cache.evict(max(0, short))
            cache.insert_prefix(prompt, prompt)
            cache.lock_handle(match, unlock=True)

    return cpu_seconds(run) / len(prompts)
