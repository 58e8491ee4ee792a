"""A run that is killed while it is made, or whose settings are lost, goes on by a command."""

import shutil
from contextlib import closing
from dataclasses import asdict, replace

import pytest

from log.logs import quick
from ursa import durable
from ursa.config import alone
from ursa.errors import UserError
from ursa.live import ready, settings, train_command
from ursa.live.settings import Live
from ursa.log import store
from ursa.log.ledger import Ledger
from ursa.presets import preset
from ursa.run import folder as folders
from ursa.shared import place

LINK = ["--link", "udp://127.0.0.1:8399"]
WORDS = [*LINK, "--preset", "tiny", "--limits", "reach", "0.1", "--quiet", "--out"]
STARTED: list[Live] = []  # settings of the runs that came as far as their processes


class Killed(BaseException):
    """Nobody catches this, as nobody catches SIGKILL; locks are let go of, files stay."""


class Processes:
    """In place of a supervisor: the run has been made, and would start."""

    last_rows = last_updates = restarts = 0

    def __init__(self, folder, live, claim, say, keys):
        self.live = live

    def run(self, stop, show):
        STARTED.append(self.live)
        return 0


@pytest.fixture(autouse=True)
def no_robot(monkeypatch):
    monkeypatch.setattr(ready, "check", lambda folder, live, say: None)
    monkeypatch.setattr(train_command, "Supervisor", Processes)


@pytest.fixture
def out(tmp_path):
    root = quick(tmp_path)
    yield root / "run"
    if (root / "run" / "identity").exists():
        place.forget(root / "run")
    shutil.rmtree(root, ignore_errors=True)


def start(*words):
    """Give a command; the settings of the run that it started, or why it did not."""
    STARTED.clear()
    try:
        train_command.train(list(words))
    except UserError as error:
        return str(error)
    return STARTED[-1]


def killed_at(number, out, monkeypatch):
    """Give the command and die just before one of the operations that put something on disk."""
    left = [number]

    def dying(real):
        def operation(*words):
            left[0] -= 1
            if not left[0]:
                raise Killed
            return real(*words)

        return operation

    with monkeypatch.context() as patch:
        for name in ("write", "rename"):
            patch.setattr(durable, name, dying(getattr(durable, name)))
        try:
            start(*WORDS, str(out))
        except Killed:
            return True
    return False


def stranded(out, monkeypatch):
    """How many operations there are, and before which of them a kill strands the folder: neither
    the same command goes on, nor --resume."""
    found, number = [], 0
    while True:
        number += 1
        if not killed_at(number, out, monkeypatch):
            return number - 1, found
        ways = ([*WORDS, str(out)], ["--resume", str(out), "--quiet"])
        if not any(isinstance(start(*words), Live) for words in ways):
            found.append(number)
        place.forget(out)
        shutil.rmtree(out)


def test_killed_at_any_moment_of_its_creation_a_run_is_started_by_the_same_command(
    out, monkeypatch
):
    # live.json, identity, environment.json, config.json: each is written, then given its name
    assert stranded(out, monkeypatch) == (8, [])
    assert killed_at(9, out, monkeypatch) is False
    assert "continue it with --resume" in start(*WORDS, str(out))  # it is a run by now
    assert start("--resume", str(out)).limits == {"reach": 0.1}


def test_with_its_config_written_first_it_would_be_stranded(out, monkeypatch):
    """Sabotage."""

    def create(flags, config, out, live, say):
        folders.begin(out, config)
        settings.write(out, live)

    monkeypatch.setattr(train_command, "create", create)
    # config.json has its name after two; live.json would need two more
    assert stranded(out, monkeypatch) == (4, [3, 4])


def recorded(out, rows=5):
    """A run with rows on disk, as big as its settings say."""
    live = start(*WORDS, str(out))
    with closing(Ledger(out, live.layout.kind)) as ledger:
        ledger.commit(0, [bytes(live.layout.kind.size)] * rows)
    return live


DAMAGES = {
    "lost": lambda path: path.unlink(),
    "empty": lambda path: path.write_bytes(b""),
    "half": lambda path: path.write_bytes(path.read_bytes()[:200]),
    "zeros": lambda path: path.write_bytes(bytes(1024)),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_rows_are_not_out_of_reach_when_the_settings_beside_them_are_lost(out, damage, capsys):
    before = recorded(out)
    DAMAGES[damage](out / "live.json")
    damaged = (out / "live.json").read_bytes() if damage != "lost" else None
    said = start("--resume", str(out))
    assert "live.json" in said
    assert f"--resume {out} --link udp://HOST:PORT" in said
    assert "--limits" in said
    live = start("--resume", str(out), *LINK)
    assert "THE USUAL SETTINGS HOLD, limits included" in capsys.readouterr().err
    assert live.limits == {}  # nobody knows any more that it was narrower: that was said
    assert live == replace(before, limits={}, start="resumed")  # a person looks first
    assert settings.read(out) == live
    with closing(store.Log(out, live.layout)) as found:
        assert found.end() == 5
    kept = [path.read_bytes() for path in out.glob("live.json.damaged-*")]
    assert kept == ([] if damaged is None else [damaged])


def test_without_a_word_for_it_they_would_be(out, monkeypatch):
    """Sabotage: settings that are lost are like any other mistake."""
    recorded(out)
    (out / "live.json").unlink()
    monkeypatch.setattr(settings, "Lost", type("Never", (UserError,), {}))
    monkeypatch.setattr(settings, "_missing", lambda folder: UserError("there is no live.json"))
    assert start("--resume", str(out), *LINK) == "there is no live.json"


def test_settings_that_can_be_read_and_are_wrong_are_named_and_not_passed_over(out):
    """A slip of the hand must not cost a run its limits."""
    recorded(out)
    path = out / "live.json"
    path.write_bytes(path.read_bytes().replace(b'"reach"', b'"raech"'))
    said = start("--resume", str(out), *LINK)
    assert "did you mean reach" in said
    path.write_bytes(path.read_bytes().replace(b'"limits"', b'"limit"'))
    said = start("--resume", str(out), *LINK)
    assert "did you mean limits" in said
    assert f"move the file away: then ursa robot train --resume {out} --link" in said


def test_a_run_in_simulation_does_not_become_one_on_a_robot(tmp_path):
    config = alone(preset("tiny"))
    durable.write(tmp_path / "config.json", durable.to_json(asdict(config)))
    (tmp_path / "checkpoints").mkdir()
    assert "holds no run on a robot" in start("--resume", str(tmp_path), *LINK)
