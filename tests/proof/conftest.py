"""Guests for the proofs, compiled as the package's are; and a count of what was tried, said at the end."""

import pytest
from support import ROOT

TRIED = pytest.StashKey[dict]()


@pytest.fixture(scope="session")
def tried(request):
    """``tried("orders")`` counts one more of these."""
    counts = request.config.stash.setdefault(TRIED, {})

    def count(what, number=1):
        counts[what] = counts.get(what, 0) + number

    return count


def pytest_terminal_summary(terminalreporter, config):
    for what, number in config.stash.get(TRIED, {}).items():
        terminalreporter.write_line(f"proof: {number:,} {what} tried")


@pytest.fixture(scope="session")
def compiled(build, guests, tmp_path_factory):
    """The folder of the agent and of the proofs' own programs."""
    out = tmp_path_factory.mktemp("proof")
    sources = [ROOT / "tests" / "agent" / "agent.c", *sorted((ROOT / "tests" / "proof").glob("programs/*.c"))]
    (out / "nexos").mkdir()
    jobs = [build.program_job("nexos", path.stem, path, out) for path in sources]
    build.make_all(jobs, build.find_toolchain(), {}, lambda _: None)
    return out / "nexos"


@pytest.fixture(scope="session")
def agent(compiled):
    return (compiled / "agent").read_bytes()
