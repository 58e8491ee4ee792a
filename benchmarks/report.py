"""The one form of every benchmark: JSON objects, one per line, on the screen and in a file."""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

_files: list[TextIO] = []  # where `emit` writes beside the screen


def emit(
    case: str, value: float, unit: str, reference: str | None = None, ratio: float | None = None
) -> None:
    """Print one measurement; `ratio` compares it with `reference`, measured in the same run."""
    line: dict[str, object] = {"case": case, "value": _short(value), "unit": unit}
    if reference is not None:
        line["reference"] = reference
    if ratio is not None:
        line["ratio"] = _short(ratio)
    text = json.dumps(line, allow_nan=False)
    for stream in (sys.stdout, *_files):
        print(text, file=stream, flush=True)


def run(benchmark: Callable[[], None], arguments: list[str] | None = None) -> None:
    """Run a benchmark from the command line; `--json FILE` keeps its lines in a file, too."""
    parser = argparse.ArgumentParser(description=sys.modules[benchmark.__module__].__doc__)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the same lines to FILE")
    options = parser.parse_args(arguments)
    with kept_in(options.json):
        benchmark()


@contextmanager
def kept_in(path: Path | None) -> Iterator[None]:
    """Within this block the lines go to a file as well, if one is given."""
    if path is None:
        yield
        return
    with path.open("w") as file:
        _files.append(file)
        try:
            yield
        finally:
            _files.remove(file)


def seconds(work: Callable[[], object], repeats: int = 7) -> float:
    """Median time of a piece of work that returns when it is done, after one warm-up."""
    work()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def _short(value: float) -> float:
    """Four digits: more would be noise."""
    return float(f"{value:.4g}")
