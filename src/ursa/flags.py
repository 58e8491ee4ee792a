"""Flags: the words of a command line become values; one that makes no sense is told in one line.

tyro does it, by rules of ours: what may be left out is shown as what it is (PATH, not a union with
None), a number that is none is answered in words, and a switch that is on says so.
"""

import importlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from types import NoneType, UnionType
from typing import Annotated, Any, TypeVar, Union, get_args

import tyro
from tyro.conf import FlagCreatePairsOff, arg
from tyro.constructors import (
    ConstructorRegistry,
    PrimitiveConstructorSpec,
    PrimitiveTypeInfo,
    StructConstructorSpec,
    StructTypeInfo,
)

from ursa.errors import UserError, brief

Made = TypeVar("Made")
RULES = ConstructorRegistry()
NUMBERS = {int: "a whole number", float: "a number"}
UNSET = "none"


def parsed(made: Callable[..., Made], arguments: Sequence[str], program: str, **more: Any) -> Made:
    """What the words make of a function or a class; `more` goes to `tyro.cli` as it is."""
    config = (FlagCreatePairsOff,)
    with _one_line(program):
        return tyro.cli(
            made, args=list(arguments), prog=program, config=config, registry=RULES, **more
        )


@RULES.primitive_rule
def number(info: PrimitiveTypeInfo) -> PrimitiveConstructorSpec[Any] | None:
    """A number, or in words what is wanted."""
    kind = info.type
    if kind not in NUMBERS:
        return None

    def made(words: list[str]) -> Any:
        try:
            return kind(words[0])
        except ValueError:
            raise ValueError(f"{brief(words[0])}: want {NUMBERS[kind]}") from None

    return PrimitiveConstructorSpec(
        nargs=1,
        metavar=kind.__name__.upper(),
        instance_from_str=made,
        is_instance=lambda it: type(it) is kind or (kind is float and type(it) is int and "~"),
        str_from_instance=lambda it: [str(it)],
    )


@RULES.primitive_rule
def optional(info: PrimitiveTypeInfo) -> PrimitiveConstructorSpec[Any] | None:
    """What may be left out is what it is when it is given; nobody types None."""
    kinds = [it for it in get_args(info.type) if it is not NoneType]
    if info.type_origin not in (Union, UnionType) or len(kinds) != 1:
        return None
    spec = ConstructorRegistry.get_primitive_spec(PrimitiveTypeInfo.make(kinds[0], info.markers))
    if not isinstance(spec, PrimitiveConstructorSpec):
        return None
    return replace(
        spec,
        is_instance=lambda it: it is None or spec.is_instance(it),
        str_from_instance=lambda it: [UNSET] if it is None else spec.str_from_instance(it),
    )


class Switches:
    """A switch that is on is shown as `--no-NAME`: what is on by default is then said by name."""

    def __init__(self) -> None:
        self._asked: list[Any] = []  # structures whose fields are being found by the other rules

    def __call__(self, info: StructTypeInfo) -> StructConstructorSpec | None:
        if info.type in self._asked:
            return None
        self._asked.append(info.type)
        try:
            spec = ConstructorRegistry.get_struct_spec(info)
        finally:
            self._asked.pop()
        if not isinstance(spec, StructConstructorSpec):
            return None
        fields = (
            replace(it, type=Annotated[it.type, arg(help_behavior_hint=f"(default: {it.name} on)")])
            if it.type is bool and it.default is True
            else it
            for it in spec.fields
        )
        return replace(spec, fields=tuple(fields))


RULES.struct_rule(Switches())


@contextmanager
def _one_line(program: str) -> Iterator[None]:
    """A value that is refused becomes a `UserError`; tyro itself answers what is no option.

    How to hear of a refusal is private to tyro and may change with its version: wherever it has,
    its own answer, of several lines, stands.
    """
    try:
        hear = importlib.import_module("tyro._errors").on_parse_error
    except (ImportError, AttributeError):
        hear = nullcontext

    def heard(event: Any) -> None:
        try:
            said = sentence(event)
        except (AttributeError, TypeError):
            return
        if said:
            raise UserError(f"{said}; see {program} --help")

    with hear(heard):
        yield


def sentence(event: Any) -> str | None:
    """The option, its value and what is allowed, of a refusal by tyro; None: not ours to tell."""
    kind, argument = type(event).__name__, getattr(event, "argument", None)
    if argument is None:
        return None
    name = argument.display_name()
    if kind == "InvalidChoice":
        return f"{name} = {brief(event.value)}: want one of {', '.join(event.choices)}"
    if kind == "BadValue" and event.reason == "too_few_values":
        return f"{name} has no value: want {name} {argument.lowered.metavar}"
    if kind == "InstantiationFailure" and ": want " in event.message:
        return f"{name} = {event.message}"
    if kind == "InstantiationFailure":
        return f"{name}: want {argument.lowered.metavar}"
    return None
