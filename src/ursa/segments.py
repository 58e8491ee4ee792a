"""Segments: every row of a lock-step run, on disk in immutable files that checkpoints refer to.

    segment-00000012.safetensors   the fields of `Row`, rows stacked along a new first axis, time

Rows gather in memory and are sealed into one file at each checkpoint. The checkpoint's meta
holds the manifest: one entry per segment with its SHA-256 and the columns it covers. What lies in
the folder but not in a manifest belongs to a save that never finished; sealing overwrites it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import safetensors.numpy

from ursa import durable
from ursa.errors import UserError, brief
from ursa.types import Row

# One entry only: safetensors writes several in random order, and equal rows should be equal bytes.
FORMAT = {"ursa-segment": "1"}
FIELDS = tuple(field.name for field in fields(Row))
DTYPES = {name: bool if name in ("safe", "first") else np.float32 for name in FIELDS}


@dataclass(frozen=True, kw_only=True)
class Segment:
    """One entry of a manifest."""

    name: str  # of the file
    first: int  # number of its first column, counted from the start of the run
    columns: int  # control steps in it
    bytes: int
    sha256: str


KINDS = {field.name: field.type for field in fields(Segment)}


def _name(index: int) -> str:
    return f"segment-{index:08d}.safetensors"


class Segments:
    """The rows of one run: append each, seal at every checkpoint, put the manifest in its meta."""

    def __init__(self, folder: Path, manifest: Sequence[Mapping[str, Any]] = ()) -> None:
        """Begin a run, or with the manifest of a checkpoint continue one."""
        self._folder = folder
        self._sealed = read_manifest(manifest)
        self._rows: list[dict[str, np.ndarray]] = []
        self._shapes: dict[str, tuple[int, ...]] = {}

    @property
    def columns(self) -> int:
        """Control steps seen so far, sealed or not."""
        return _end(self._sealed) + len(self._rows)

    @property
    def manifest(self) -> list[dict[str, Any]]:
        """What has been sealed, as JSON."""
        return [asdict(segment) for segment in self._sealed]

    def append(self, row: Row) -> None:
        """Remember one control step; a value that is not finite is refused here, for good."""
        values = {name: np.array(getattr(row, name), DTYPES[name]) for name in FIELDS}
        shapes = {name: value.shape for name, value in values.items()}
        self._shapes = self._shapes or shapes
        if shapes != self._shapes:
            raise UserError(f"step {self.columns}: row of shapes {shapes}, before {self._shapes}")
        for name, value in values.items():
            if not np.isfinite(value).all():
                where = tuple(int(index[0]) for index in np.nonzero(~np.isfinite(value)))
                raise UserError(
                    f"step {self.columns}: {name} is {value[where]} at {where}, want a finite "
                    f"number: look at the robot and the task, nothing of this step was stored"
                )
        self._rows.append(values)

    def seal(self) -> Segment | None:
        """Write the rows since the last seal as one segment; None if there are none."""
        if not self._rows:
            return None
        first = _end(self._sealed)
        stacked = {name: np.stack([row[name] for row in self._rows]) for name in FIELDS}
        data = safetensors.numpy.save(stacked, metadata=FORMAT)
        described = durable.describe(data)
        segment = Segment(
            name=_name(len(self._sealed)), first=first, columns=len(self._rows), **described
        )
        temporary = self._folder / f"tmp.{segment.name}"
        try:
            with durable.room_for(segment.name, self._folder, len(data)):
                durable.write(temporary, data)
                durable.read_verified(temporary, described)
                durable.rename(temporary, self._folder / segment.name)
        except ValueError as error:
            raise UserError(f"could not write {segment.name}: read back wrong, {error}") from error
        finally:
            temporary.unlink(missing_ok=True)
        self._sealed = (*self._sealed, segment)
        self._rows = []
        return segment


def read_manifest(manifest: Sequence[Mapping[str, Any]]) -> tuple[Segment, ...]:
    """The segments of a manifest, if they follow one another without a gap; else UserError."""
    segments: list[Segment] = []
    for index, entry in enumerate(manifest):
        told = dict(entry) if isinstance(entry, Mapping) else {}
        if {name: type(value) for name, value in told.items()} != KINDS:
            raise UserError(f"segment {index} of the manifest is malformed: {brief(entry)}")
        segment = Segment(**entry)
        if segment.name != _name(index):  # a name is never trusted as a path
            raise UserError(f"segment {index} is called {segment.name}, want {_name(index)}")
        if segment.first != _end(segments) or segment.columns < 1:
            raise UserError(
                f"{segment.name} covers {segment.columns} columns from {segment.first}, want them "
                f"from {_end(segments)}: the manifest is out of order or has a gap"
            )
        segments.append(segment)
    return tuple(segments)


def load(
    folder: Path, manifest: Sequence[Mapping[str, Any]], columns: int | None = None
) -> Iterator[tuple[int, Row]]:
    """Stream (number of the first column, rows) in order: all, or the last `columns` and a few.

    Only the newest segments that hold the last `columns` control steps are opened. Each is
    verified before its rows are given out.
    """
    segments = read_manifest(manifest)
    from_column = 0 if columns is None else _end(segments) - columns
    for segment in segments:
        if segment.first + segment.columns > from_column:
            yield segment.first, _opened(folder, segment)


def verify(folder: Path, manifest: Sequence[Mapping[str, Any]], columns: int | None = None) -> None:
    """UserError unless `load` would give every row."""
    for _ in load(folder, manifest, columns):
        pass


def _end(segments: Sequence[Segment]) -> int:
    return segments[-1].first + segments[-1].columns if segments else 0


def _opened(folder: Path, segment: Segment) -> Row:
    try:
        data = durable.read_verified(folder / segment.name, asdict(segment))
        arrays = safetensors.numpy.load(data)
        lengths = {name: array.shape[0] if array.ndim else 0 for name, array in arrays.items()}
        if lengths != dict.fromkeys(FIELDS, segment.columns):
            raise ValueError(f"{segment.name} holds {lengths}, want {segment.columns} of {FIELDS}")
        for name, array in arrays.items():
            if array.dtype != DTYPES[name] or not np.isfinite(array).all():
                raise ValueError(f"{segment.name} holds {name} that `append` would have refused")
        return Row(**arrays)
    except (ValueError, KeyError, OSError, safetensors.SafetensorError) as error:
        raise UserError(
            f"the rows of this run cannot be read back from {folder}: {error}; restore the file "
            f"from a copy, or resume from an older checkpoint that does not need it"
        ) from error
