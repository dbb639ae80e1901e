"""The matrix's machines; and a count of the system calls that it tries, said at the end."""

import pytest
from gate import Gate
from matrix_world import FILES

TRIED = pytest.StashKey[int]()


@pytest.fixture(scope="session")
def gates():
    """One machine for each personality and setting, made when it is first wanted and after a failure."""
    made = {}

    def gate(personality, lazy, cow):
        key = personality.calls, lazy, cow
        if key not in made or not made[key].is_restored:
            made[key] = Gate(personality, files=FILES, lazy=lazy, cow=cow)
        return made[key]

    return gate


@pytest.fixture(scope="session")
def tried(request):
    """Call it once for each case."""

    def count(number=1):
        stash = request.config.stash
        stash[TRIED] = stash.get(TRIED, 0) + number

    return count


def pytest_terminal_summary(terminalreporter, config):
    if TRIED in config.stash:
        terminalreporter.write_line(f"matrix: {config.stash[TRIED]:,} system calls tried")
