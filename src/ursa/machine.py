"""The machine we run on, asked without installing anything."""

import os
from pathlib import Path


def host_memory(table: Path = Path("/proc/meminfo")) -> float | None:
    """Bytes that can still be had, or all there is where only that is known, or None."""
    if table.exists():
        rows = dict(line.split(":", 1) for line in table.read_text().splitlines() if ":" in line)
        if "MemAvailable" in rows:
            return float(rows["MemAvailable"].split()[0]) * 1024
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):  # no sysconf, or not these names
        return None


def cores() -> int:
    """Processor cores that this process may use: those of the machine, or those it is held to."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
