"""Numbers that come from outside: checked once, in one wording, before anything is built."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ursa.errors import UserError, brief


def number(
    name: str, value: Any, *, least: float = -math.inf, above: float = -math.inf, advice: str = ""
) -> None:
    """Refuse what is not a finite number, at least `least` and more than `above`."""
    if _is_number(value) and least <= value and above < value:
        return
    want = "a finite number"
    if least > -math.inf:
        want = f"a number >= {least:g}"
    if above > -math.inf:
        want = f"a number > {above:g}"
    raise UserError(f"{name} = {shown(value)}, want {want}{advice}")


def numbers(name: str, values: Any, count: int) -> None:
    """Refuse what is not a sequence of `count` finite numbers."""
    row = isinstance(values, Sequence | np.ndarray) and len(values) == count
    if not row or not all(_is_number(it) for it in values):
        raise UserError(f"{name} = {shown(values)}, want {count} finite numbers")


def whole(name: str, value: Any, *, least: int, most: int | None = None) -> None:
    """Refuse what is not a whole number from `least` to `most`."""
    integer = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not integer or value < least or (most is not None and value > most):
        want = f">= {least}" if most is None else f"from {least} to {most}"
        raise UserError(f"{name} = {shown(value)}, want a whole number {want}")


def shown(value: Any) -> str:
    """A value as a message tells it: text in quotes, numbers bare."""
    if isinstance(value, int) and not isinstance(value, bool):
        return brief(value)  # however many digits somebody wrote
    return f'"{value}"' if isinstance(value, str) else str(value)


def _is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number that no float holds
        return False
