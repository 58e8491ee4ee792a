"""A repertoire as a file: a versioned .npz without pickle (docs/repertoire.md describes it)."""

import io
import math
import os
import zipfile
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ursa import durable
from ursa.errors import UserError
from ursa.skill.distance import METRICS
from ursa.skill.table import Table

FORMAT = "ursa-repertoire"
VERSION = 1

Arrays = dict[str, np.ndarray]


class Column(NamedTuple):
    """What a stored array must look like. Axes: n rows in use, P posture, D skill."""

    kind: str  # f float, i integer, b boolean, U text
    shape: str


COLUMNS = {
    "format": Column("U", ""),
    "version": Column("i", ""),
    "metric": Column("U", ""),
    "size": Column("i", ""),
    "distinct_skills": Column("i", ""),
    "rejected": Column("i", ""),
    "posture": Column("f", "nP"),
    "skill": Column("f", "nD"),
    "coordinate": Column("f", "nD"),
    "nearest": Column("f", "n"),
    "neighbour": Column("i", "n"),
    "mean": Column("f", "D"),
    "factor": Column("f", "DD"),
    "whitener": Column("f", "DD"),
    "regular": Column("b", ""),
    "delta": Column("f", ""),
    "lower": Column("f", "P"),
    "upper": Column("f", "P"),
}
MAY_BE_INFINITE = {"nearest", "lower", "upper"}
LARGEST = 128 << 20  # bytes of a file, of what it unpacks to, and of the table it asks for
DAMAGED = (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile, zlib.error)
# A header nested too deeply, packed in a way that Python does not know, or locked by a password.
UNREADABLE = (*DAMAGED, MemoryError, RecursionError, NotImplementedError, RuntimeError)


def write(table: Table, path: str | os.PathLike[str]) -> None:
    """Write the rows in use and how they are measured; the file is whole or absent."""
    path = Path(path)
    used = slice(0, int(table.filled))
    arrays = {
        "format": FORMAT,
        "version": VERSION,
        "metric": table.metric.name,
        "size": table.skill.shape[0],
        "distinct_skills": table.distinct_skills,
        "rejected": table.rejected,
        "posture": table.posture[used],
        "skill": table.skill[used],
        "coordinate": table.coordinate[used],
        "nearest": table.nearest[used],
        "neighbour": table.neighbour[used],
        "mean": table.spread.mean,
        "factor": table.spread.factor,
        "whitener": table.spread.whitener,
        "regular": table.spread.regular,
        "delta": table.delta,
        "lower": table.lower,
        "upper": table.upper,
    }
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **{name: np.asarray(a) for name, a in arrays.items()})
    data = buffer.getvalue()
    with durable.room_for("the repertoire", path.absolute().parent, len(data)):
        temporary = path.with_name(path.name + ".tmp")
        durable.write(temporary, data)
        durable.rename(temporary, path)


def read(path: str | os.PathLike[str]) -> Arrays:
    """The arrays of a file, every one checked; a UserError says what is wrong with the file."""
    path = Path(path)
    arrays = _opened(path)
    if str(arrays.get("format")) != FORMAT:
        raise UserError(f"{path} is no repertoire: it has no format = {FORMAT}")
    version = arrays.get("version")
    if version is None or version.shape != () or version.dtype.kind != "i" or version != VERSION:
        raise UserError(
            f"{path}: repertoire format version {version}, this URSA reads version {VERSION}; "
            "open it with the URSA that wrote it, or read the arrays with numpy.load"
        )
    wrong = _complaints(arrays)
    if wrong:
        raise UserError(f"{path}: damaged repertoire: {'; '.join(wrong)}; use another copy")
    return arrays


def _opened(path: Path) -> Arrays:
    try:
        data = durable.read_bounded(path, LARGEST)
        if not zipfile.is_zipfile(io.BytesIO(data)):
            raise UserError(f"{path} is no repertoire: want the .npz that save() writes")
        _refuse_bomb(data)
        loaded = np.load(io.BytesIO(data), allow_pickle=False)
        return {name: loaded[name] for name in loaded.files}
    except FileNotFoundError:
        raise UserError(f"{path}: no such repertoire file") from None
    except UNREADABLE as error:
        # Cut short, a flipped bit (each array carries a checksum), objects instead of numbers.
        raise UserError(
            f"{path} cannot be read as a repertoire ({error}); it is damaged or something else: "
            "use another copy"
        ) from error


def _refuse_bomb(data: bytes) -> None:
    """ValueError before anything is unpacked that would take much memory, or names a thing twice.

    What an array claims to be is compared with the bytes there are: NumPy would take it at its
    word.
    """
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        entries = packed.infolist()
        total = sum(entry.file_size for entry in entries)
        if total > LARGEST:
            raise ValueError(f"it unpacks to {total} bytes, at most {LARGEST} are read")
        if len({entry.filename for entry in entries}) < len(entries):
            raise ValueError("an array is there twice")
        for entry in entries:
            with packed.open(entry) as file:
                version = np.lib.format.read_magic(file)
                header = HEADERS.get(version)
                if header is None:
                    raise ValueError(f"{entry.filename} is an array of version {version}")
                shape, _, kind = header(file)
                if math.prod(shape) * kind.itemsize != entry.file_size - file.tell():
                    raise ValueError(f"{entry.filename} is not of the size that it claims")


HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


def _complaints(arrays: Arrays) -> list[str]:
    """What is wrong with the arrays of a file of our version, in sentences."""
    missing, extra = COLUMNS.keys() - arrays.keys(), arrays.keys() - COLUMNS.keys()
    if missing or extra:
        return [f"missing {sorted(missing)}, unknown {sorted(extra)}"]
    if arrays["posture"].ndim != 2 or arrays["skill"].ndim != 2:
        return ["posture and skill must be tables"]
    rows, postures = arrays["posture"].shape
    axes = {"n": rows, "P": postures, "D": arrays["skill"].shape[1]}
    wrong = []
    for name, column in COLUMNS.items():
        array, shape = arrays[name], tuple(axes[axis] for axis in column.shape)
        if array.dtype.kind != column.kind or array.shape != shape:
            wrong.append(f"{name} is {array.dtype} {array.shape}, want {column.kind} {shape}")
        elif column.kind == "f":
            limited = np.isnan(array) if name in MAY_BE_INFINITE else ~np.isfinite(array)
            if limited.any():
                wrong.append(f"{name} holds numbers that are not finite")
            elif array.dtype != arrays["skill"].dtype:
                wrong.append(f"{name} is {array.dtype}, skill is {arrays['skill'].dtype}")
    return wrong or _nonsense(arrays, rows)


def _nonsense(arrays: Arrays, rows: int) -> list[str]:
    """Values that no repertoire can have."""
    size, neighbour = int(arrays["size"]), arrays["neighbour"]
    wrong: list[tuple[bool, str]] = [
        (not 1 <= size <= 2**24, f"size = {size}"),
        (size * _row(arrays) > LARGEST, f"size = {size}, rows of {_row(arrays)} bytes each"),
        (rows > size, f"{rows} rows in a repertoire of {size}"),
        (int(arrays["distinct_skills"]) < 1, f"distinct_skills = {arrays['distinct_skills']}"),
        (str(arrays["metric"]) not in METRICS, f"metric = {arrays['metric']}"),
        (bool((neighbour < 0).any() or (neighbour >= max(rows, 1)).any()), "neighbour off range"),
        (bool((arrays["nearest"] < 0).any()), "a negative squared distance"),
    ]
    return [what for bad, what in wrong if bad]


def _row(arrays: Arrays) -> int:
    """Bytes of one row of the table."""
    wide = sum(arrays[name].shape[1] for name in ("posture", "skill", "coordinate"))
    return (wide + 2) * arrays["skill"].itemsize


def fields(arrays: Arrays) -> dict[str, Any]:
    """The same rows padded to the repertoire's full size, as columns of a Table."""
    rows, size = arrays["skill"].shape[0], int(arrays["size"])

    def padded(name: str, value: float = 0.0) -> np.ndarray:
        array = arrays[name]
        rest = np.full((size - rows, *array.shape[1:]), value, array.dtype)
        return np.concatenate([array, rest])

    return {
        "posture": padded("posture"),
        "skill": padded("skill"),
        "coordinate": padded("coordinate"),
        "nearest": padded("nearest", np.inf),
        "neighbour": padded("neighbour").astype(np.int32),
        "filled": np.int32(rows),
        "rejected": arrays["rejected"].astype(np.int32),
        "delta": arrays["delta"],
        "lower": arrays["lower"],
        "upper": arrays["upper"],
    }
