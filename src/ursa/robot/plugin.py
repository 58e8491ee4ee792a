"""Plugins: values that other packages bring, found by entry point or by "package.module:NAME".

Finding imports nothing: a package is imported when its value is asked for, so a broken one
spoils nothing but itself. `registry.py` here and in `task/` say what is looked for.
"""

import importlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.metadata import EntryPoint, entry_points
from inspect import isroutine
from types import ModuleType
from typing import Any

from ursa.errors import UserError, unknown

Loader = Callable[[], Any]


@dataclass(frozen=True)
class Plugin:
    """One name that installed packages declare; calling it loads the value."""

    kind: str  # "robot" or "task", for messages
    name: str
    declared: Sequence[EntryPoint]  # more than one: packages that quarrel about the name

    def __call__(self) -> Any:
        entry, *others = self.declared
        if others:
            offers = ", ".join(sorted(f"{_package(it)} ({it.value})" for it in self.declared))
            raise UserError(
                f'{self.kind} "{self.name}" is declared by several packages: {offers}; '
                'uninstall one, or name the value itself as "package.module:NAME"'
            )
        who = f'{self.kind} "{self.name}" of the package {_package(entry)} ({entry.value})'
        return _guarded(entry.load, who, "repair or uninstall that package")


def plugins(kind: str, group: str) -> Mapping[str, Plugin]:
    """What the installed packages declare in an entry-point group, by name."""
    entries = entry_points(group=group)
    names = sorted({entry.name for entry in entries})
    return {it: Plugin(kind, it, tuple(e for e in entries if e.name == it)) for it in names}


def load(
    kind: str, group: str, builtin: Mapping[str, Loader], name: str, wanted: type = object
) -> Any:
    """The value called `name`: built in, declared by a package, or "package.module:NAME"."""
    if name in builtin:  # first: no package can take the name of a built-in one
        return builtin[name]()
    if ":" in name:
        return addressed(kind, name, wanted)
    declared = plugins(kind, group)
    if name in declared:
        return declared[name]()
    raise unknown(kind, name, [*builtin, *declared])


@contextmanager
def here() -> Iterator[None]:
    """What is addressed may lie in the folder one stands in, which is looked at last: it hides
    nothing. In this block only: libraries import what they find, and nobody has named that."""
    added = "" not in sys.path
    if added:
        sys.path.append("")
    try:
        yield
    finally:
        if added and "" in sys.path:
            sys.path.remove("")


def addressed(kind: str, address: str, wanted: type = object) -> Any:
    """The value at "package.module:NAME", or the module itself at "package.module".

    Another name is answered with those that could be meant: values of the `wanted` type, and
    functions that the module defines itself.
    """
    module_name, _, value_name = address.partition(":")
    with here():
        module = _guarded(
            lambda: importlib.import_module(module_name),
            f'{kind} "{address}"',
            'want "package.module:NAME" of a module that Python can import',
        )
    if not value_name:
        return module
    if not hasattr(module, value_name):
        raise unknown(f"{kind} in {module_name}", value_name, _offered(module, wanted))
    return getattr(module, value_name)


def called(kind: str, name: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """The result of a function that a package brought; its failure is told as that package's."""
    named = function.func if isinstance(function, partial) else function
    address = f"{named.__module__}:{getattr(named, '__qualname__', type(named).__name__)}"
    return _guarded(lambda: function(*arguments), f'{kind} "{name}" ({address})', "repair it")


def _guarded(load: Loader, who: str, remedy: str) -> Any:
    try:
        return load()
    except UserError as error:
        raise UserError(f"{who}: {error}") from error
    except Exception as error:  # somebody else's code may fail in any way
        raise UserError(
            f"{who} does not load: {type(error).__name__}: {error}; {remedy}"
        ) from error


def _offered(module: ModuleType, wanted: type) -> list[str]:
    """Public names of a module that could be meant; what it imported to work with is not."""

    def fits(value: Any) -> bool:
        if isinstance(value, ModuleType | type):
            return False
        if isroutine(value):
            return getattr(value, "__module__", None) == module.__name__
        return isinstance(value, wanted)

    return [name for name, it in vars(module).items() if not name.startswith("_") and fits(it)]


def _package(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist else "unknown"
