"""Record: one control step of the robot as the bytes that ring and log carry, and back."""

import enum
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float32, Int64, UInt32, UInt64

from ursa.errors import UserError
from ursa.log.volume import Kind
from ursa.types import Row, Sizes

Array = Any
NAME, FORMAT = "steps", 1
FLOATS = ("observation", "action", "reward", "cost", "posture", "skill")


class Mark(enum.IntFlag):
    """Why a step is not one of learning; such steps commit nothing to the repertoire."""

    HOMING = 1  # on its way back into the arena, by a shipped policy
    INTERVENTION = 2  # a hand or the gate moved it
    RISING = 4  # fallen, and getting up by script


@dataclass(frozen=True, kw_only=True)
class Steps:
    """T control steps of one robot, one after another."""

    row: Row  # leading axis T; one robot, n = 1
    skill: Float32[Array, "T D"]  # z that was followed
    marks: UInt32[Array, " T"]  # see Mark
    policy: UInt64[Array, " T"]  # version of the snapshot that chose the action
    time: Int64[Array, " T"]  # ns of the monotonic clock when the sensors were read
    age: UInt32[Array, " T"]  # microseconds from there to the choice of the next action


@dataclass(frozen=True, kw_only=True)
class Layout:
    """How wide the vectors are, and so where everything lies; little-endian, no padding."""

    sizes: Sizes
    skill: int  # D; 0 where there are no skills

    @cached_property
    def cell(self) -> np.dtype:
        widths = {**vars(self.sizes), "skill": self.skill}
        return np.dtype(
            [("time", "<i8"), ("policy", "<u8"), ("age", "<u4"), ("marks", "<u4")]
            + [(name, "<f4", (widths[name],) if name in widths else ()) for name in FLOATS]
            + [("safe", "u1"), ("first", "u1")]
        )

    @property
    def kind(self) -> Kind:
        """What a ledger of such records is."""
        widths = {"format": FORMAT, **vars(self.sizes), "skill": self.skill}
        return Kind(name=NAME, layout=json.dumps(widths), size=self.cell.itemsize)


def pack(
    layout: Layout,
    row: Row,
    *,
    skill: Float32[Array, " D"],
    policy: int,
    time: int,
    age: int = 0,
    marks: int = 0,
) -> bytes:
    """One step of one robot; a value that is not finite or of another width is refused."""
    cell = np.zeros((), layout.cell)
    values = {name: np.asarray(getattr(row, name)) for name in vars(row)}
    for name, value in {**values, "skill": np.asarray(skill)[None]}.items():
        if value.shape != (1, *cell[name].shape):
            raise UserError(f"step: {name} of shape {value.shape}, want (1, *{cell[name].shape})")
        if not np.isfinite(value).all():
            raise UserError(
                f"step: {name} is {value[~np.isfinite(value)][0]}, want a finite number: look at "
                f"the robot and the task, nothing of this step was stored"
            )
        cell[name] = value[0]
    for name, value in {"policy": policy, "time": time, "age": age, "marks": marks}.items():
        cell[name] = value
    return cell.tobytes()


def unpack(layout: Layout, records: Sequence[bytes]) -> Steps:
    """The steps of records that follow one another."""
    cells = np.frombuffer(b"".join(records), layout.cell)

    def robot(name: str, kind: type) -> np.ndarray:
        return np.ascontiguousarray(cells[name], kind)[:, None]  # axis 1: the one robot

    return Steps(
        row=Row(
            **{name: robot(name, np.float32) for name in FLOATS if name != "skill"},
            safe=robot("safe", np.bool_),
            first=robot("first", np.bool_),
        ),
        skill=np.ascontiguousarray(cells["skill"], np.float32),
        marks=np.ascontiguousarray(cells["marks"], np.uint32),
        policy=np.ascontiguousarray(cells["policy"], np.uint64),
        time=np.ascontiguousarray(cells["time"], np.int64),
        age=np.ascontiguousarray(cells["age"], np.uint32),
    )


def parted(steps: Steps) -> Steps:
    """The same steps after something is missing: no sequence may run across."""
    first = steps.row.first.copy()
    first[0] = True
    return replace(steps, row=replace(steps.row, first=first))
