"""Attacks: each puts one hostile file into a folder, sound but for what it is named for."""

import struct
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from edges import hostile
from edges.hostile import BIG, BRACKETS, DIGITS, array, packed, tensor, tensors
from ursa import durable

Attack = Callable[[Path], object]


def writes(name: str, data: bytes) -> Attack:
    return lambda folder: (folder / name).write_bytes(data)


def of_repertoire(change: Callable[[Path], bytes]) -> Attack:
    def act(folder: Path) -> None:
        path = hostile.sound_repertoire(folder)
        path.write_bytes(change(path))

    return act


def of_checkpoint(change: Attack) -> Attack:
    def act(folder: Path) -> None:
        hostile.sound_checkpoint(folder)
        change(folder)

    return act


def of_meta(meta: object) -> Attack:
    return of_checkpoint(partial(hostile.forge, change=hostile.same, meta=durable.to_json(meta)))


def entry(**changes: object) -> Attack:
    """A segment of the manifest that says something else; every hash is right."""

    def act(folder: Path) -> None:
        hostile.sound_checkpoint(folder)
        told = [{**hostile.manifest_of(folder)[0], **changes}]
        hostile.forge(folder, hostile.same, meta=durable.to_json({"segments": told}))

    return act


def of_rows(**changes: np.ndarray) -> Attack:
    def act(folder: Path) -> None:
        hostile.sound_checkpoint(folder)
        hostile.forge_rows(folder, hostile.spoilt_rows(folder, **changes))

    return act


def rows(data: bytes) -> Attack:
    return of_checkpoint(lambda folder: hostile.forge_rows(folder, data))


def arrays(data: bytes) -> Attack:
    return of_checkpoint(lambda folder: hostile.forge(folder, hostile.same, arrays=data))


def member(name: str, data: bytes, squeeze: bool = False) -> Attack:
    return of_repertoire(lambda path: hostile.with_member(path, name, data, squeeze=squeeze))


def bomb(path: Path) -> bytes:
    """As many zeros as fit, in a file a thousand times smaller; the shape is honest."""
    zeros = array((BIG // 8, 2), bytes(BIG))
    return hostile.with_member(path, "posture.npy", zeros, squeeze=True)


def wide(path: Path) -> bytes:
    """A table of 16 million rows, of which none is in use."""
    return hostile.with_array(path, size=np.int64(2**24))


LONG = struct.pack("<Q", 10**18) + b"{}"
CLAIM = tensors(tensor([BIG // 4], BIG), bytes(1000))
OVERFLOW = tensors(tensor([2**62, 8], 0))
TWICE = b'{"x": 1, "x": 1}'
ONE = b'{"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}'
ATTACKS: dict[str, tuple[str, Attack]] = {
    # a folder's settings
    "config nested 100,000 deep": ("config.json", writes("config.json", BRACKETS)),
    "config with a number of 5,000 digits": ("config.json", writes("config.json", DIGITS)),
    "config with a name twice": ("config.json", writes("config.json", TWICE)),
    "config of 256 MB": ("config.json", lambda f: hostile.sparse(f / "config.json")),
    "config linked to a device": (
        "config.json",
        lambda f: hostile.linked(f / "config.json", "/dev/zero"),
    ),
    "config that is a pipe": ("config.json", lambda f: hostile.pipe(f / "config.json")),
    "config of a thousand unknown names": (
        "config.json",
        writes("config.json", durable.to_json(dict.fromkeys(map(str, range(1000)), 1))),
    ),
    # settings of a robot, and a script of faults
    "live settings nested 100,000 deep": ("live.json", writes("live.json", BRACKETS)),
    "live settings with a number of 5,000 digits": ("live.json", writes("live.json", DIGITS)),
    "live settings with a number of 4,000 digits": (
        "live.json",
        writes("live.json", b'{"publish": 1' + b"0" * 4000 + b"}"),
    ),
    "live settings with a name twice": (
        "live.json",
        writes("live.json", b'{"publish": 4, "publish": 5}'),
    ),
    "live settings that are a pipe": ("live.json", lambda f: hostile.pipe(f / "live.json")),
    "fault script nested 100,000 deep": (
        "faults.toml",
        writes("faults.toml", b"link = " + b"[" * 100_000),
    ),
    "fault script with a number of 4,000 digits": (
        "faults.toml",
        writes("faults.toml", b"[link]\nloss = 1" + b"0" * 4000),
    ),
    "fault script with a number of 5,000 digits": (
        "faults.toml",
        writes("faults.toml", b"[link]\nloss = 1" + b"0" * 5000),
    ),
    "fault script that is a pipe": ("faults.toml", lambda f: hostile.pipe(f / "faults.toml")),
    # an agent
    "agent with a header of 1e18 bytes": ("agent.safetensors", writes("agent.safetensors", LONG)),
    "agent whose shape overflows": ("agent.safetensors", writes("agent.safetensors", OVERFLOW)),
    "agent that claims 256 MB": ("agent.safetensors", writes("agent.safetensors", CLAIM)),
    "agent that is not finite": (
        "agent.safetensors",
        writes("agent.safetensors", hostile.spoilt_agent(**{"['actor']['weight']": hostile.NAN})),
    ),
    "agent of numbers that NumPy has not": (
        "agent.safetensors",
        writes("agent.safetensors", hostile.of_agent([2, 3], 6, "F8_E4M3", bytes(6))),
    ),
    "agent of another width": (
        "agent.safetensors",
        writes("agent.safetensors", hostile.of_agent([2, 1 << 20], 1 << 23, "F32", bytes(1 << 23))),
    ),
    "agent that is a pipe": ("agent.safetensors", lambda f: hostile.pipe(f / "agent.safetensors")),
    "agent linked to a device": (
        "agent.safetensors",
        lambda f: hostile.linked(f / "agent.safetensors", "/dev/zero"),
    ),
    # a repertoire
    "repertoire that is a zip bomb": ("repertoire.npz", of_repertoire(bomb)),
    "repertoire of 16 million empty rows": ("repertoire.npz", of_repertoire(wide)),
    "repertoire of 1e18 rows": (
        "repertoire.npz",
        member("posture.npy", array((10**18, 2), bytes(48))),
    ),
    "repertoire whose shape overflows": (
        "repertoire.npz",
        member("posture.npy", array((2**62, 2**62), bytes(48))),
    ),
    "repertoire with a header nested deep": (
        "repertoire.npz",
        member("delta.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", 9000) + b"-" * 9000),
    ),
    "repertoire with an array twice": (
        "repertoire.npz",
        of_repertoire(lambda p: packed(hostile.members(p) * 2)),
    ),
    "repertoire with a name outside": (
        "repertoire.npz",
        of_repertoire(
            lambda p: packed([*hostile.members(p), ("../../x.npy", array((1,), bytes(4)))])
        ),
    ),
    "repertoire that is not finite": (
        "repertoire.npz",
        of_repertoire(lambda p: hostile.with_array(p, mean=np.full(2, np.nan, np.float32))),
    ),
    "repertoire of 256 MB": ("repertoire.npz", lambda f: hostile.sparse(f / "repertoire.npz")),
    # a checkpoint and its rows, forged so that every hash is right
    "checkpoint with a header of 1e18 bytes": ("checkpoints", arrays(LONG)),
    "checkpoint that claims 256 MB": ("checkpoints", arrays(CLAIM)),
    "checkpoint whose shape overflows": ("checkpoints", arrays(OVERFLOW)),
    "checkpoint of numbers that NumPy has not": (
        "checkpoints",
        arrays(tensors(tensor([4], 8, "BF16", "['x']"), bytes(8))),
    ),
    "checkpoint with an array twice": (
        "checkpoints",
        arrays(tensors(b'{"y": ' + ONE + b', "y": ' + ONE + b"}", bytes(4))),
    ),
    "meta nested 100,000 deep": (
        "checkpoints",
        of_checkpoint(partial(hostile.forge, change=hostile.same, meta=BRACKETS)),
    ),
    "meta that is a list": ("checkpoints", of_meta([1, 2])),
    "meta with rows that are malformed": ("checkpoints", of_meta({"segments": [{"name": 7}]})),
    "manifest nested 100,000 deep": (
        "checkpoints",
        of_checkpoint(
            lambda f: (f / "checkpoints/step_000000001/manifest.json").write_bytes(BRACKETS)
        ),
    ),
    "manifest of 256 MB": (
        "checkpoints",
        of_checkpoint(lambda f: hostile.sparse(f / "checkpoints/step_000000001/manifest.json")),
    ),
    "arrays linked to a device": (
        "checkpoints",
        of_checkpoint(
            lambda f: hostile.linked(
                f / "checkpoints/step_000000001/arrays.safetensors", "/dev/zero"
            )
        ),
    ),
    "rows outside the folder": ("checkpoints", entry(name="../../secret")),
    "rows under an absolute name": ("checkpoints", entry(name="/etc/passwd")),
    "rows of 1e18 columns": ("checkpoints", entry(columns=10**18)),
    "rows that are not finite": (
        "checkpoints",
        of_rows(reward=np.full((1, 2), np.inf, np.float32)),
    ),
    "rows of another kind": ("checkpoints", of_rows(safe=np.ones((1, 2), np.float32))),
    "rows that claim 256 MB": ("checkpoints", rows(CLAIM)),
    # results, journal, notes
    "results nested 100,000 deep": ("seed_0.json", writes("seed_0.json", BRACKETS)),
    "results with a number of 5,000 digits": ("seed_0.json", writes("seed_0.json", DIGITS)),
    "results of 256 MB": ("seed_0.json", lambda f: hostile.sparse(f / "seed_0.json")),
    "journal of one line of 256 MB": (
        "metrics.jsonl",
        lambda f: hostile.sparse(f / "metrics.jsonl"),
    ),
    "journal nested 100,000 deep": ("metrics.jsonl", writes("metrics.jsonl", BRACKETS + b"\n")),
    "notes nested 100,000 deep": ("environment.json", writes("environment.json", BRACKETS)),
    "notes of something else": ("environment.json", writes("environment.json", b'{"starts": 7}')),
}
