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
    close = difflib.get_close_matches(name.lower(), names, n=1, cutoff=0.5)
    return UserError(f"{message}; did you mean {close[0]}?" if close else message)
