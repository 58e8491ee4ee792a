"""Hostile files: none runs code, none takes the memory or the time, each is told in words."""

import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from edges import hostile, opening
from edges.attacks import ATTACKS, Attack, entry, member, of_checkpoint, of_repertoire, writes
from edges.hostile import array
from edges.opening import MEMORY, OPENERS, SECONDS, watched
from ursa import checkpoint, durable
from ursa.skill import archive

PIECES = ("arrays.safetensors", "meta.json", "manifest.json")  # of a checkpoint


def told(kind: str, folder: Path) -> str:
    return opening.saved(folder) if kind == "checkpoints" else OPENERS[kind](folder)


def verdict(kind: str, attack: Attack, folder: Path) -> str:
    """What is wrong with how an attack was met; empty if nothing is."""
    sentinel = folder.parent / "sentinel"
    attack(folder)
    problems = []
    with watched() as taken:
        try:
            answer = told(kind, folder)
        except Exception as error:
            answer, problems = "", [f"{type(error).__name__}: {error}"[:300]]
    if not problems and kind.partition(".")[0] not in answer and str(folder) not in answer:
        problems.append(f"does not name the file: {answer[:200]}")
    if len(answer.splitlines()) > 24 or len(answer) > 2400:
        problems.append(f"more than a screen: {len(answer)} characters")
    if sentinel.exists():
        problems.append("code of the file was run")
    if taken["memory"] > MEMORY:
        problems.append(f"{taken['memory'] / 1e6:.0f} MB taken")
    if taken["seconds"] > SECONDS:
        problems.append(f"{taken['seconds']:.1f} s taken")
    return "; ".join(problems)


@pytest.fixture
def folder(tmp_path):
    """A run's folder; a sentinel beside it says that code was run."""
    (tmp_path / "run").mkdir()
    return tmp_path / "run"


def test_there_are_more_than_thirty_and_every_loader_is_attacked():
    assert len(ATTACKS) >= 45
    assert len(OPENERS) + len(PIECES) == 13


def test_what_is_sound_is_believed(folder):
    """So that each refusal below is owed to the one thing that differs."""
    for make in (hostile.sound_config, hostile.sound_agent, hostile.sound_repertoire):
        path = make(folder)
        with pytest.raises(AssertionError, match="it was believed"):
            OPENERS[path.name](folder)
    hostile.sound_checkpoint(folder)
    with pytest.raises(AssertionError, match="it was believed"):
        opening.saved(folder)


def test_the_trap_is_a_real_one(folder):
    (folder / "trap").write_bytes(hostile.trap(folder.parent / "sentinel"))
    program = "import pickle, sys; pickle.load(open(sys.argv[1], 'rb'))"
    subprocess.run([sys.executable, "-c", program, str(folder / "trap")], check=True)
    assert (folder.parent / "sentinel").exists()


@pytest.mark.parametrize("name", OPENERS)
def test_a_pickle_under_any_name_is_not_opened(folder, name):
    data = hostile.trap(folder.parent / "sentinel")
    if name.endswith(".ack"):
        (folder / "steps-000001.db").write_bytes(data)
    assert verdict(name, writes(name, data), folder) == ""


@pytest.mark.parametrize("name", PIECES)
def test_a_pickle_as_part_of_a_checkpoint_is_not_opened(folder, name):
    def act(place: Path) -> None:
        hostile.sound_checkpoint(place)
        data = hostile.trap(place.parent / "sentinel")
        (place / "checkpoints/step_000000001" / name).write_bytes(data)

    assert verdict("checkpoints", act, folder) == ""


@pytest.mark.parametrize("name", ["agent.safetensors", "arrays", "meta"])
def test_a_pickle_with_the_right_hash_or_inside_an_array_is_not_opened(folder, name):
    data = hostile.trap(folder.parent / "sentinel")
    if name == "agent.safetensors":
        objects = array((1,), data, "|O")
        attack = of_repertoire(lambda path: hostile.with_member(path, "posture.npy", objects))
        assert verdict("repertoire.npz", attack, folder) == ""
    else:
        attack = of_checkpoint(partial(hostile.forge, change=hostile.same, **{name: data}))
        assert verdict("checkpoints", attack, folder) == ""


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_is_met_with_one_clear_error(folder, name):
    kind, attack = ATTACKS[name]
    assert verdict(kind, attack, folder) == ""


# Sabotage: the same verdict on a program without its protections


def test_with_pickles_allowed_the_verdict_fails(folder, monkeypatch):
    load = np.load
    monkeypatch.setattr(archive, "_refuse_bomb", lambda data: None)
    monkeypatch.setattr(np, "load", lambda file, **_: load(file, allow_pickle=True))
    objects = array((1,), hostile.trap(folder.parent / "sentinel"), "|O")
    assert "code of the file was run" in verdict(
        "repertoire.npz", member("posture.npy", objects), folder
    )


def test_without_a_look_at_the_sizes_the_verdict_fails(folder, monkeypatch):
    monkeypatch.setattr(archive, "_refuse_bomb", lambda data: None)
    assert " MB taken" in verdict(*ATTACKS["repertoire that is a zip bomb"], folder)


def test_without_a_bound_on_what_is_read_the_verdict_fails(folder, monkeypatch):
    monkeypatch.setattr(durable, "read_bounded", lambda path, most: path.read_bytes())
    assert " MB taken" in verdict(*ATTACKS["config of 256 MB"], folder)


def test_without_a_check_of_numbers_the_verdict_fails(folder, monkeypatch):
    monkeypatch.setattr("ursa.run.publish.unsound", lambda tree: "")
    assert "it was believed" in verdict(*ATTACKS["agent that is not finite"], folder)


def test_with_names_taken_as_paths_the_verdict_fails(folder, monkeypatch):
    hostile.sound_checkpoint(folder)
    secret = (folder / "rows/segment-00000000.safetensors").read_bytes()
    (folder.parent / "secret").write_bytes(secret)
    kind, attack = "checkpoints", entry(name="../../secret")

    def again(place: Path) -> None:
        for path in checkpoint.stored(place / "checkpoints"):
            checkpoint.set_aside(path, "an older one")
        attack(place)

    assert verdict(kind, again, folder) == ""
    monkeypatch.setattr("ursa.segments._name", lambda index: "../../secret")
    assert "it was believed" in verdict(kind, lambda place: None, folder)
