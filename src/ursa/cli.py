"""The `ursa` command: a table of sub-commands, of which only the one called is imported."""

from __future__ import annotations

import importlib
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ursa import __version__
from ursa.errors import UserError, unknown


@dataclass(frozen=True)
class Command:
    """One sub-command: where its function is, and what it does in one line.

    The function's parameters become the options and its docstring their help; it returns None or
    an exit code. Its module is imported when the command is called, not before.
    """

    target: str  # "module:function"
    summary: str
    parses: bool = False  # the function takes the words themselves, and returns an exit code

    def load(self) -> Callable[..., int | None]:
        """Import the module and return the function."""
        module, function = self.target.split(":")
        return getattr(importlib.import_module(module), function)


COMMANDS: Mapping[str, Command] = {
    "doctor": Command("ursa.doctor:doctor", "check that this machine can train, and how to fix it"),
    "demo": Command("ursa.demo:demo", "six skills, a broken leg, eight trials: in a minute"),
    "train": Command("ursa.run.command:train", "let a robot discover what it can do", parses=True),
    "look": Command("ursa.look:look", "see what a run has learnt: its skills, against chance"),
    "evaluate": Command(
        "ursa.evaluate.command:evaluate", "measure a run: skills, damage, tracking"
    ),
    "adapt": Command("ursa.repair.command:adapt", "break a robot, find a skill that still works"),
    "compare": Command("ursa.evaluate.compare:compare", "tables and figures of several runs"),
    "report": Command("ursa.evaluate.report:report", "one page with the figures of several runs"),
    "reproduce": Command(
        "ursa.evaluate.reproduce:reproduce", "the paper's questions: train, measure, draw"
    ),
    "replay": Command(
        "ursa.live.replay_command:replay", "recompute what a run on a robot learnt, and compare"
    ),
    "watch": Command("ursa.watch.command:watch", "see a robot move: a video or a picture of it"),
    "robot check": Command(
        "ursa.robot.conformance:check", "prove that a robot obeys the contract every robot obeys"
    ),
    "robot train": Command(
        "ursa.live.train_command:train", "learn on a robot, or on its emulator", parses=True
    ),
    "robot emulate": Command(
        "ursa.live.emulate_command:emulate", "a robot behind its real protocol, on this machine"
    ),
    "robot learn": Command(
        "ursa.live.learn_command:learn", "the learner of a robot that is on another machine"
    ),
    "robot adapt": Command(
        "ursa.live.adapt_command:adapt", "a broken robot finds a skill that still works"
    ),
    "robot stop": Command("ursa.live.stop_command:stop", "the stop button: limp, now, latched"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the sub-command that `argv` (or the shell) names; return an exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        try:
            return dispatch(arguments, COMMANDS)
        finally:
            sys.stdout.flush()  # now, where it can still be said that nobody reads it
    except BrokenPipeError:  # `ursa ... | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except UserError as error:
        print(f"ursa: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt as stopped:
        print(f"ursa: {str(stopped) or 'interrupted'}", file=sys.stderr)
        return 130


def dispatch(arguments: Sequence[str], commands: Mapping[str, Command]) -> int:
    """Answer --help and --version; otherwise call the command with the arguments left over."""
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(overview(commands))
        return 0
    if arguments[0] == "--version":
        print(f"ursa {__version__}")
        return 0
    for words in (2, 1):
        name = " ".join(arguments[:words])
        if len(arguments) >= words and name in commands:
            return call(name, commands[name], arguments[words:])
    group = {name: it for name, it in commands.items() if name.startswith(f"{arguments[0]} ")}
    if group and (len(arguments) == 1 or arguments[1] in ("-h", "--help")):
        print(overview(group))
        return 0
    raise unknown("command", " ".join(arguments[: 2 if group else 1]), commands)


def call(name: str, command: Command, arguments: Sequence[str]) -> int:
    """Turn `arguments` into the function's parameters, and call it."""
    if command.parses:
        return command.load()(arguments) or 0
    from ursa import flags  # tyro takes a moment: not for a list of commands

    return flags.parsed(command.load(), arguments, f"ursa {name}") or 0


def overview(commands: Mapping[str, Command]) -> str:
    """The page that `ursa --help` prints; it imports no command."""
    width = max(map(len, commands)) + 2
    return "\n".join(
        [
            "usage: ursa COMMAND [OPTIONS]",
            "",
            "URSA lets a legged robot find out by itself what it can do.",
            "",
            "commands:",
            *(f"  {name:<{width}}{command.summary}" for name, command in commands.items()),
            "",
            "ursa COMMAND --help   the options of one command, with their defaults",
            "ursa --version        the version",
            "",
            "New here? `ursa doctor` says whether this machine is ready.",
        ]
    )
