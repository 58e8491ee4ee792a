"""The one error a person is meant to read: something outside the program is wrong."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


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
    names = sorted(set(valid))
    if not names:
        return UserError(f'unknown {kind} "{name}": none is registered')
    message = f'unknown {kind} "{name}": valid are {", ".join(names)}'
    close = _closest(name, names)
    return UserError(f"{message}; did you mean {close[0]}?" if close else message)


def _closest(name: str, names: list[str]) -> list[str]:
    """The valid name most like this one: as it was written, else whatever its capitals."""
    plain = {valid.lower(): valid for valid in names}
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    return near or [plain[it] for it in difflib.get_close_matches(name.lower(), plain, 1, 0.5)]
