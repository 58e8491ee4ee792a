"""A robot of metal goes by real time: the virtual one of an emulator is refused, whoever asks."""

import json
from dataclasses import asdict
from types import SimpleNamespace

import jaxtyping
import pytest

from live.stacked import live_of
from ursa import durable
from ursa.config import alone
from ursa.errors import UserError
from ursa.live import adapt_command, gating, settings, train_command
from ursa.live.settings import Live, Patience
from ursa.presets import preset
from ursa.run.agent import Agent

METAL, SHARED = "udp://192.168.123.10:8007", "shared:/dev/shm/time"
REFUSED = (
    f'clock = "{SHARED}" with link = "{METAL}": a robot goes by real time, want clock = wall '
    r"\(--clock wall\); virtual time is for an emulator on this machine"
)


@pytest.fixture(autouse=True)
def stand_ins(monkeypatch):
    """Nobody here is an agent, or is asked to end."""
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)


class Driven(Exception):
    """It would have gone to the robot."""


def driven(*_, **__):
    raise Driven


def settled(*words):
    """The settings with which `ursa robot train` would go to the robot."""
    return train_command.settled(train_command.parse(list(words)))[2]


def train(folder, monkeypatch):
    assert settled("--preset", "tiny", "--link", METAL, "--clock", SHARED).virtual
    raise Driven


def emulated(folder, **changes):
    """A run that was begun on an emulator, in virtual time."""
    durable.write(folder / "config.json", durable.to_json(asdict(alone(preset("tiny")))))
    live = live_of(folder, clock=SHARED, acknowledge="operator", patience=Patience(), **changes)
    settings.write(folder, live)
    return live


def resume(folder, monkeypatch):
    emulated(folder)
    assert settled("--resume", str(folder), "--link", METAL).virtual
    raise Driven


def adapt(folder, monkeypatch):
    agent = SimpleNamespace(config=alone(preset("tiny")))
    monkeypatch.setattr(Agent, "load", lambda *arguments: agent)
    monkeypatch.setattr(adapt_command, "keep_programs", lambda: None)
    monkeypatch.setattr(adapt_command.adaptation, "check", driven)
    adapt_command.adapt(folder, link=METAL, clock=SHARED, unfinished=True)


def gate(folder, monkeypatch):
    """Started on a file that somebody has written by hand."""
    plain = asdict(Live(link=METAL)) | {"clock": SHARED}
    (folder / settings.NAME).write_text(json.dumps(plain))
    monkeypatch.setattr(gating.child, "Ending", lambda longest: None)
    monkeypatch.setattr(gating, "Mouth", driven)
    gating.main(folder)


WAYS = pytest.mark.parametrize("way", [train, resume, adapt, gate])


@WAYS
def test_no_robot_is_driven_on_the_clock_of_an_emulator(tmp_path, monkeypatch, way):
    with pytest.raises(UserError, match=REFUSED):
        way(tmp_path, monkeypatch)


@WAYS
def test_if_every_robot_were_taken_for_an_emulator_it_would_be(tmp_path, monkeypatch, way):
    """Sabotage."""
    monkeypatch.setattr(settings, "ip_address", lambda host: SimpleNamespace(is_loopback=True))
    with pytest.raises(Driven):
        way(tmp_path, monkeypatch)


def test_a_run_that_was_begun_on_an_emulator_goes_on_with_a_robot_in_real_time(tmp_path):
    emulated(tmp_path, pose="udp://127.0.0.1:8017")
    found = settled("--resume", str(tmp_path), "--link", METAL, "--clock", "wall")
    assert (found.link, found.clock, found.virtual) == (METAL, "wall", False)
    assert found.pose == "udp://127.0.0.1:8017"  # as all that is not named again
    words = ("--link", METAL, "--clock", "wall", "--pose", "")
    assert settled("--resume", str(tmp_path), *words).pose == ""


def test_a_clock_that_is_none_is_said_once():
    with pytest.raises(UserError) as caught:
        settings.check(Live(link=METAL, clock="sundial"))
    assert str(caught.value).count("sundial") == 1
