"""The one error a person is meant to read: something outside the program is wrong."""

from __future__ import annotations

import difflib
import reprlib
from collections.abc import Iterable, Sequence

OF_MAKE = {"bullet": "setup", "video": "setup", "cuda": "cuda"}  # extras, and what installs them
SCREEN = 20  # lines of a list before "and so many more"
SHORTENED = reprlib.Repr()
SHORTENED.maxstring = SHORTENED.maxother = 80


class UserError(Exception):
    """A mistake in the world (a name, a value, a file, a machine), not in the program.

    The message is written for a person: what was given, what is allowed, what to do.
    The command line prints it as ``ursa: MESSAGE`` and exits with code 2.
    """


def unknown(kind: str, name: str, valid: Iterable[str]) -> UserError:
    """Compose the error for a name that is not in a known set (return it, do not raise it).

    >>> str(unknown("robot", "a2", ["go2", "a1", "point"]))
    'unknown robot "a2": valid are a1, go2, point; did you mean a1?'
    """
    names, name = sorted(set(valid)), shortened(name)
    if not names:
        return UserError(f'unknown {kind} "{name}": none is registered')
    message = f'unknown {kind} "{name}": valid are {", ".join(names)}'
    close = closest(name, names)
    return UserError(f"{message}; did you mean {close}?" if close else message)


def brief(value: object) -> str:
    """A value as a message shows it, on one line however large it is.

    >>> brief(0.5), brief("fast"), brief(-(10**400))
    ('0.5', "'fast'", '-10^400 or so')
    """
    if isinstance(value, int) and value.bit_length() > 200:  # digits nobody would count
        return f"{'-' if value < 0 else ''}10^{round(value.bit_length() * 0.30103)} or so"
    return SHORTENED.repr(value)


def shortened(text: str, most: int = 80) -> str:
    """A text that may come from anywhere, cut to what a line can show."""
    return text if len(text) <= most else f"{text[: most - 3]}..."


def listed(lines: Sequence[str], most: int = SCREEN) -> str:
    """Lines of a message, indented; of more than a screen the rest is counted."""
    more = [f"and {len(lines) - most} more"] if len(lines) > most else []
    return "\n  ".join([*lines[:most], *more])


def install(extra: str) -> str:
    """How to get what an extra of the package brings, from an index or in a clone of it."""
    clone = f"make {OF_MAKE[extra]}, or " if extra in OF_MAKE else ""
    return f"pip install 'ursa-robot[{extra}]' (in a clone: {clone}pip install '.[{extra}]')"


def closest(name: str, names: list[str]) -> str | None:
    """What was most likely meant, or None rather than a guess.

    A name of several words is also recognised by its first ones: "robto" is "robot check", or
    just "robot" where several names begin so.
    """
    words = max(1, len(name.split()))
    heads = [" ".join(valid.split()[:words]) for valid in names]
    offers = {
        head: head if heads.count(head) > 1 else valid
        for head, valid in zip(heads, names, strict=True)
    }
    offers |= {valid: valid for valid in names}

    def likeness(offer: str) -> tuple[float, float]:
        return _alike(name.lower(), offer.lower()), _alike(name, offer)

    best = max(offers, key=likeness)
    if len({offers[it] for it in offers if likeness(it) == likeness(best)}) > 1:
        return None  # "XX.upper" is as near to any other upper joint
    enough = 0.5 if len(name) < 3 else 0.65  # one letter of two is half, two of three are 0.67
    return offers[best] if likeness(best)[0] >= enough else None


def _alike(one: str, two: str) -> float:
    return difflib.SequenceMatcher(None, one, two).ratio()
