"""On what it was measured."""

import os
import platform
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import nexemu


@dataclass(frozen=True, slots=True)
class Host:
    """The computer and the software. ``load``: how many programs wanted to run in the minute before."""

    cpu: str
    cores: int
    system: str
    python: str
    unicorn: str
    nexemu: str
    load: float

    def line(self) -> str:
        """For people."""
        return (
            f"{self.cpu}, {self.cores} cores at load {self.load:.1f}; {self.system}; "
            f"Python {self.python}, Unicorn {self.unicorn}, nexemu {self.nexemu}"
        )


def this_host() -> Host:
    """The computer that this runs on, as it is now."""
    return Host(
        cpu=_cpu_name(),
        cores=os.cpu_count() or 1,
        system=f"{platform.system()} {platform.machine()}",
        python=platform.python_version(),
        unicorn=version("unicorn"),
        nexemu=nexemu.__version__,
        load=round(os.getloadavg()[0], 2),
    )


def _cpu_name() -> str:
    """As Linux knows it; elsewhere what Python knows."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown processor"
