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


def cache() -> Path:
    """Where this user keeps what can be made again (XDG's way); the folder may not exist yet."""
    home = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(home) if home else Path.home() / ".cache") / "ursa"
