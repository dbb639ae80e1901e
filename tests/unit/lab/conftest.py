"""Reports that several tests look at, made once."""

from functools import cache

import pytest

from nexemu.lab.catalogue import EXPERIMENTS
from nexemu.lab.experiment import Trial


@pytest.fixture(scope="session")
def report_of():
    """The report of an experiment with its own seed."""
    return cache(lambda name: EXPERIMENTS[name].run(Trial(EXPERIMENTS[name].seed)))
