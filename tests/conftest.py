"""How the whole suite runs: shapes checked, chance repeatable, compilations kept, no skip in CI."""

import os
import pkgutil
from pathlib import Path

import hypothesis
import pytest
from jaxtyping import install_import_hook

import ursa
from sizes import SOAK

CI = os.environ.get("CI", "").lower() in ("1", "true")

# JAX reads these when it is first imported, by us or by a process that a test starts.
for name, value in {
    "JAX_COMPILATION_CACHE_DIR": str(Path(__file__).parents[1] / ".cache" / "jax"),
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    "JAX_NUMPY_RANK_PROMOTION": "raise",
    "JAX_NUMPY_DTYPE_PROMOTION": "strict",
}.items():
    os.environ.setdefault(name, value)

# No deadline: the first example of a test may compile. In CI the same examples every time.
hypothesis.settings.register_profile("local", deadline=None)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True)
hypothesis.settings.load_profile("ci" if CI else "local")

# Every annotation, shapes included, is checked on every call; in the rooms that turn 500 times a
# second of a robot's only by `make soak`: there the check costs three times what it checks.
TICKING = set() if SOAK else {"emulator", "gate", "live", "log", "shared"}
ROOMS = {room.name for room in pkgutil.iter_modules(ursa.__path__)} - TICKING
install_import_hook([f"ursa.{room}" for room in ROOMS], "typechecker.typechecked")


@pytest.fixture
def drawing() -> None:
    """Skip, with the fix, where nothing can be drawn: that needs a GL library of the system's."""
    from ursa.errors import UserError
    from ursa.show import gl

    try:
        gl.backend()
    except UserError as error:
        pytest.skip(str(error))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Left to others: to `make soak` what takes minutes (an ordinary run has 25 for everything),
    to root what becomes somebody else."""
    absent = {"soak": not SOAK, "root": os.getuid() != 0}
    marks = [mark for mark, missing in absent.items() if missing]
    later = [item for item in items if any(map(item.get_closest_marker, marks))]
    config.hook.pytest_deselected(items=later)
    items[:] = [item for item in items if item not in later]


def skips(config: pytest.Config) -> list[str]:
    """What was skipped in this run, with the reason."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    reports = reporter.stats.get("skipped", []) if reporter else []
    return [f"{report.nodeid}: {report.longrepr[2]}" for report in reports]


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """In CI a test that was skipped is a promise nobody checked: the run fails."""
    if CI and skips(session.config) and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter, config: pytest.Config) -> None:
    """Say which skips made the run fail."""
    if CI and skips(config):
        terminalreporter.section("skipped tests are failures when CI=true", red=True)
        for line in skips(config):
            terminalreporter.line(line)
