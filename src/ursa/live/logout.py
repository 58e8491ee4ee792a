"""Logout: whether the system takes an account's memory away when its last session ends.

systemd does, by default, for accounts of people that may not linger. A terminal multiplexer keeps
a run alive after a lost connection, but no session.
"""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from ursa.claim import account

PERSON = 1000  # accounts from this number on are people's; those below keep their memory
BOOTED = "run/systemd/system"  # there where systemd runs
LINGER = "var/lib/systemd/linger"  # a file for each account that may
NAME = "systemd/logind.conf"
ETC = "etc"  # what is set here hides a file of the same name elsewhere
VENDORS = ("usr/lib", "usr/local/lib", "run")
SWITCHED_OFF = ("no", "n", "false", "f", "off", "0")


def warning(root: Path = Path("/"), uid: int | None = None) -> str:
    """What to say about it before a run; "": nothing. `root` is that of the file system."""
    uid = os.getuid() if uid is None else uid
    name = account(uid)
    if uid < PERSON or not (root / BOOTED).exists() or (root / LINGER / name).exists():
        return ""
    if not removes(read(root)):
        return ""
    return (
        f"when the last session of {name} on this computer ends (a lost connection, also with the "
        "run in tmux) systemd removes the memory of the run, which then lies down and ends. To "
        f"keep it, before you start: loginctl enable-linger {name} (docs/robot.md, 6)"
    )


def removes(lines: Iterable[str]) -> bool:
    """Whether logind removes the memory, by the lines of its settings; the last word counts.

    >>> removes([]), removes(["#RemoveIPC=no"]), removes(["[Login]", "RemoveIPC = no"])
    (True, True, False)
    """
    found = True
    for line in lines:
        name, _, value = line.partition("=")
        if name.strip() == "RemoveIPC":
            found = value.strip().lower() not in SWITCHED_OFF
    return found


def read(root: Path) -> list[str]:
    """The settings of logind: the file itself, then what was dropped beside it, by name."""
    main = next((it for it in _places(root, NAME) if it.exists()), None)
    dropped: dict[str, Path] = {}
    for folder in reversed(_places(root, f"{NAME}.d")):
        dropped |= {path.name: path for path in folder.glob("*.conf")}
    lines: list[str] = []
    for path in (main, *(dropped[name] for name in sorted(dropped))):
        with suppress(OSError):  # not for us to read: as if it were not there
            lines += [] if path is None else path.read_text(errors="replace").splitlines()
    return lines


def _places(root: Path, name: str) -> list[Path]:
    """Where a file may be, the one that counts first."""
    return [root / each / name for each in (ETC, *reversed(VENDORS))]
