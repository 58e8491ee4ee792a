"""Saved states: whose they are, and whether they fit the body that is to go on from them."""

from collections.abc import Iterable, Mapping

import numpy as np

from ursa.errors import UserError
from ursa.robot.spec import RobotSpec

Array = np.ndarray
LABEL = ("robot", "count", "tick")
SHOWN = 5  # names listed before "and so many more"


def label(spec: RobotSpec, count: int, tick: float = 0.0) -> dict[str, Array]:
    """Whose state it is, as arrays to be saved with it. A body without physics has tick 0."""
    name = np.frombuffer(spec.name.encode(), np.uint8).copy()
    return {"robot": name, "count": np.array(count), "tick": np.array(tick)}


def check_fit(state: Mapping[str, Array], mine: Mapping[str, Array]) -> None:
    """Refuse a state that another robot, count, tick or setting saved; `mine` is save() now."""
    if not isinstance(state, Mapping):
        raise UserError(f"saved state is a {type(state).__name__}, want the dict that save() gave")
    told = {name: _told(name, state) for name in LABEL if name in state}
    wanted = {name: _told(name, mine) for name in LABEL}
    other = [name for name in told if told[name] != wanted[name]]
    if other:
        theirs, ours = (", ".join(f"{n} {it[n]}" for n in other) for it in (told, wanted))
        raise UserError(
            f"saved state is of {theirs}; this body has {ours}. Restore into the same robot, "
            "count and tick. Nothing changed."
        )
    for what, names in (("lacks", mine.keys() - state.keys()), ("has", state.keys() - mine.keys())):
        if names:
            stray = "" if what == "lacks" else ", which this body does not know"
            raise UserError(
                f"saved state {what} {_some(names)}{stray}: restore what save() of the same robot, "
                "engine and version gave. Nothing changed."
            )
    for name, here in mine.items():
        there = np.asarray(state[name])
        if (there.shape, there.dtype) != (here.shape, here.dtype):
            raise UserError(
                f"saved state: {name} is {there.dtype}{list(there.shape)}, this body has "
                f"{here.dtype}{list(here.shape)}: restore into the same robot, count and options. "
                "Nothing changed."
            )


def _told(name: str, state: Mapping[str, Array]) -> str:
    """One part of the label in words."""
    value = np.asarray(state[name])
    if name == "robot":
        return value.astype(np.uint8).tobytes().decode(errors="replace")
    return f"{value.item():.10g}{' s' if name == 'tick' else ''}" if value.ndim == 0 else str(value)


def _some(names: Iterable[str]) -> str:
    ordered = sorted(names)
    more = len(ordered) - SHOWN
    return ", ".join(ordered[:SHOWN]) + (f" and {more} more" if more > 0 else "")
