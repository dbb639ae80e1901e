"""Those who watch the machine: traces and counters."""
