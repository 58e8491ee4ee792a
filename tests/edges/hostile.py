"""Hostile files: what somebody could put where URSA reads, to run code or to take the memory.

`SOUND` writes a file of each kind as it should be, so that the rest differs in one thing only.
"""

import io
import json
import math
import os
import struct
import warnings
import zipfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy

from ursa import checkpoint, durable, segments
from ursa.presets import tiny
from ursa.run import publish
from ursa.segments import Segments
from ursa.skill.repertoire import Repertoire
from ursa.types import Row

BIG = 256 << 20  # bytes that a small file asks for
DEEP = 100_000  # brackets
AGENT = {"actor": {"weight": np.ones((2, 3), np.float32)}}
STATE = {"x": np.arange(4, dtype=np.float32)}


def trap(sentinel: Path) -> bytes:
    """A pickle that makes a folder when it is opened as one: it calls os.mkdir(sentinel)."""
    return f"cos\nmkdir\n(V{sentinel}\ntR.".encode()


def row() -> Row:
    def numbers(*shape: int) -> np.ndarray:
        return np.ones((2, *shape), np.float32)

    flags = np.zeros(2, bool)
    return Row(
        observation=numbers(3),
        action=numbers(2),
        reward=numbers(),
        cost=numbers(),
        posture=numbers(1),
        safe=flags,
        first=flags,
    )


# Sound ones: each is written into a folder, and the path is returned


def sound_config(folder: Path) -> Path:
    (folder / "config.json").write_bytes(durable.to_json(asdict(tiny())))
    return folder / "config.json"


def sound_agent(folder: Path) -> Path:
    publish.write(folder / "agent.safetensors", AGENT, 7, half=False)
    return folder / "agent.safetensors"


def sound_repertoire(folder: Path) -> Path:
    rng = np.random.default_rng(0)
    made = Repertoire.empty(8, 2, 2, distinct_skills=4)
    postures = rng.standard_normal((6, 2)).astype(np.float32)
    made.add(postures, postures, np.ones(6, bool)).save(folder / "repertoire.npz")
    return folder / "repertoire.npz"


def sound_checkpoint(folder: Path) -> Path:
    store = Segments(folder / "rows")
    store.append(row())
    store.seal()
    return checkpoint.save(folder / "checkpoints", 1, STATE, {"segments": store.manifest})


# Ways to build what no honest writer would


def tensors(header: dict[str, Any] | bytes, data: bytes = b"") -> bytes:
    """A safetensors file of any header."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def tensor(shape: list[int], end: int, kind: str = "F32", name: str = "x") -> dict[str, Any]:
    return {name: {"dtype": kind, "shape": shape, "data_offsets": [0, end]}}


def array(shape: tuple[int, ...], data: bytes, kind: str = "<f4") -> bytes:
    """A .npy file that claims a shape."""
    buffer = io.BytesIO()
    header = {"descr": kind, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(buffer, header)
    return buffer.getvalue() + data


def packed(members: list[tuple[str, bytes]], squeeze: bool = False) -> bytes:
    """A zip file of any members."""
    buffer = io.BytesIO()
    kind = zipfile.ZIP_DEFLATED if squeeze else zipfile.ZIP_STORED
    with zipfile.ZipFile(buffer, "w", kind, compresslevel=1) as file:
        for name, data in members:
            with warnings.catch_warnings(action="ignore"):  # a name twice is what is wanted
                file.writestr(name, data)
    return buffer.getvalue()


def members(path: Path) -> list[tuple[str, bytes]]:
    with zipfile.ZipFile(path) as file:
        return [(name, file.read(name)) for name in file.namelist()]


def with_member(path: Path, name: str, data: bytes, **options: bool) -> bytes:
    return packed([(n, data if n == name else d) for n, d in members(path)], **options)


def with_array(path: Path, **changes: Any) -> bytes:
    """A repertoire in which arrays are others."""
    arrays = dict(np.load(path)) | {name: np.asarray(value) for name, value in changes.items()}
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def sparse(path: Path, size: int = BIG) -> None:
    """A file that says it is large and takes no room on the disk."""
    path.unlink(missing_ok=True)
    with open(path, "wb") as file:
        file.truncate(size)


def forge(folder: Path, change: Callable[[dict[str, Any]], object], **files: bytes) -> None:
    """Replace files of a checkpoint and its manifest so that every hash is right."""
    place = checkpoint.stored(folder / "checkpoints")[0]
    manifest = json.loads((place / checkpoint.MANIFEST).read_bytes())
    del manifest["self"]
    for name, data in files.items():
        real = {"arrays": checkpoint.ARRAYS, "meta": checkpoint.META}[name]
        (place / real).write_bytes(data)
        manifest["files"][real] = durable.describe(data)
    change(manifest)
    (place / checkpoint.MANIFEST).write_bytes(checkpoint._sealed(manifest))


def same(_: dict[str, Any]) -> None:
    """Nothing else changes."""


def forge_rows(folder: Path, data: bytes, **changes: Any) -> None:
    """Replace the segment of a checkpoint, hashes and all."""
    entry = {**manifest_of(folder)[0], **durable.describe(data), **changes}
    (folder / "rows" / "segment-00000000.safetensors").write_bytes(data)
    forge(folder, same, meta=durable.to_json({"segments": [entry]}))


def manifest_of(folder: Path) -> list[dict[str, Any]]:
    place = checkpoint.stored(folder / "checkpoints")[0]
    return json.loads((place / checkpoint.META).read_bytes())["segments"]


def rows_of(folder: Path) -> dict[str, np.ndarray]:
    return safetensors.numpy.load((folder / "rows/segment-00000000.safetensors").read_bytes())


def spoilt_rows(folder: Path, **changes: np.ndarray) -> bytes:
    return safetensors.numpy.save({**rows_of(folder), **changes}, metadata=segments.FORMAT)


def spoilt_agent(**changes: Any) -> bytes:
    arrays = {"['actor']['weight']": np.ones((2, 3), np.float32)} | changes
    return safetensors.numpy.save(arrays, metadata={**publish.FORMAT, "steps": "7"})


def of_agent(shape: list[int], end: int, kind: str, data: bytes) -> bytes:
    """An agent's file whose only array is what is claimed."""
    header = {"__metadata__": {**publish.FORMAT, "steps": "7"}}
    return tensors(header | tensor(shape, end, kind, "['actor']['weight']"), data)


def linked(path: Path, target: str) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to(target)


def pipe(path: Path) -> None:
    path.unlink(missing_ok=True)
    os.mkfifo(path)


NAN = np.full((2, 3), math.nan, np.float32)
BRACKETS = b"[" * DEEP + b"]" * DEEP
DIGITS = b'{"seed": ' + b"9" * 5000 + b"}"
