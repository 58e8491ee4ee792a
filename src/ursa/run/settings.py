"""Settings: how a config is made from a preset and changes, and read back from a file. No JAX.

A key that does not exist and a value of the wrong kind are refused, all of them at once.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import cattrs
from cattrs.errors import ForbiddenExtraKeysError

from ursa import durable
from ursa.config import LATER, Config, complaints
from ursa.errors import UserError, brief, listed, unknown
from ursa.presets import PRESETS

Raw = Mapping[str, Any]
SHORT = {"steps": ("train", "steps")}  # what may be given without its section
LARGEST_FILE = 1 << 20  # bytes


def configure(preset: str, changes: Raw) -> Config:
    """A preset with changes: top-level names, sections as mappings, and the short names.

    >>> configure("tiny", {"robot": "point", "steps": 512, "world": {"deter": 8}}).train.steps
    512
    """
    if preset not in PRESETS:
        raise unknown("preset", preset, PRESETS)
    raw = asdict(PRESETS[preset]())
    for name, value in changes.items():
        section, key = SHORT.get(name, (name, None))
        if key is not None:
            raw[section] = {**raw[section], key: value}
        elif isinstance(raw.get(name), dict) and isinstance(value, Mapping):
            raw[name] = {**raw[name], **value}
        else:
            raw[name] = value
    return structured(raw, "these settings")


def read(path: Path, *, whole: bool = True) -> Config:
    """The config in a file that a run wrote; whatever is wrong with it is listed.

    `whole` False lets settings be missing that an older version did not have yet.
    """
    try:
        raw = durable.from_json(durable.read_bounded(path, LARGEST_FILE))
    except FileNotFoundError:
        raise UserError(
            f"{path.parent} holds no run: there is no {path.name}; start one with --out"
        ) from None
    except (ValueError, OSError) as error:
        raise UserError(f"{path} cannot be read: {error}; restore it from a copy") from error
    raw = aged(raw) if isinstance(raw, Mapping) else raw
    config = structured(raw, str(path))
    missing = dict(flat(asdict(config))).keys() - dict(flat(raw)).keys() if whole else set()
    wrong = [f"{name} is missing" for name in sorted(missing)] + complaints(config)
    if wrong:
        raise UserError(f"{path} is not what a run of this version writes:\n  " + listed(wrong))
    return config


def aged(raw: Raw) -> Raw:
    """A run's settings, and those that it is too old to have, as they were then."""
    return {**LATER, **raw}


def structured(raw: Any, where: str) -> Config:
    """A config from plain values; `where` names them in the error."""
    sections = {"": {}, **{k: v for k, v in asdict(Config()).items() if isinstance(v, dict)}}
    for name in sections:
        found = raw if not name else raw.get(name, {})
        if not isinstance(found, Mapping):
            what = f"{name} = {brief(found)}" if name else f"a {type(found).__name__}"
            raise UserError(f'{where}: {what}, want settings by name, {{"deter": 64, ...}}')
    try:
        return _CONVERTER.structure(raw, Config)
    except cattrs.BaseValidationError as error:
        lines = cattrs.transform_error(error, path="", format_exception=_said)
        said = [line.replace("@ .", "in ").removesuffix(" @ ") for line in lines]
        raise UserError(f"{where} cannot be used:\n  {listed(said)}") from None


def flat(raw: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted name and value of every setting."""
    if not isinstance(raw, Mapping):
        yield path, list(raw) if isinstance(raw, tuple) else raw  # as a file has it
        return
    for name, value in raw.items():
        yield from flat(value, f"{path}.{name}" if path else str(name))


def differences(mine: Raw, theirs: Raw, here: str, there: str) -> list[str]:
    """Every setting in which two configs differ, one line each."""
    first, second = dict(flat(mine)), dict(flat(theirs))
    nothing = "nothing"
    return [
        f"{name}: {first.get(name, nothing)} {here}, {second.get(name, nothing)} {there}"
        for name in sorted(first.keys() | second.keys())
        if first.get(name, nothing) != second.get(name, nothing)
    ]


def refuse_other(stored: Config, wanted: Config, out: Path) -> None:
    """A run goes on with the settings it has, and no others."""
    changed = differences(asdict(wanted), asdict(stored), "wanted", f"in {out}")
    if changed:
        raise UserError(
            "a run goes on with the settings it began with; leave these out, or start another "
            "run:\n  " + listed(changed)
        )


def _exactly(*kinds: type) -> Any:
    def structure(value: Any, kind: type) -> Any:
        if type(value) not in kinds:
            raise TypeError(f"{brief(value)} is a {type(value).__name__}, want {_KINDS[kind]}")
        try:
            return kind(value)
        except OverflowError:
            raise TypeError(f"{brief(value)} is too large, want {_KINDS[kind]}") from None

    return structure


def _words(value: Any, _: Any) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(type(it) is str for it in value):
        raise TypeError(f"{brief(value)} is a {type(value).__name__}, want a list of words")
    return tuple(value)


def _said(error: BaseException, _: Any) -> str:
    if isinstance(error, ForbiddenExtraKeysError):
        valid = list(error.cl.__dataclass_fields__)
        first, *others = sorted(map(str, error.extra_fields))
        more = f"; and {len(others)} more that are unknown" if others else ""
        return f"{unknown('setting', first, valid)}{more}"
    return str(error)


_KINDS = {int: "a whole number", float: "a number", bool: "true or false", str: "a word"}
_CONVERTER = cattrs.Converter(forbid_extra_keys=True)
for _kind, _accepted in ((int, (int,)), (float, (float, int)), (bool, (bool,)), (str, (str,))):
    _CONVERTER.register_structure_hook(_kind, _exactly(*_accepted))
_CONVERTER.register_structure_hook_func(lambda kind: kind == tuple[str, ...], _words)
