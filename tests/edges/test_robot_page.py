"""docs/robot.md: what it says to type can be typed, and it explains all that the gate says."""

import inspect
import re
import runpy
import shlex
import tomllib
from pathlib import Path

import pytest

from ursa import cli
from ursa.emulator import script
from ursa.gate import where
from ursa.gate.modes import Kind, Mode
from ursa.live import train_command

PAGE = (Path(__file__).parents[2] / "docs" / "robot.md").read_text()
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
LINES = [line for _, text in BLOCKS for line in text.splitlines() if line.startswith("ursa ")]
MENTIONED = sorted(set(re.findall(r"`ursa ((?:robot )?[a-z]+)", PAGE)))
UNEXPLAINED = {Kind.MODE, Kind.ACKNOWLEDGED, Kind.OLD_WISH}  # no trouble, nothing to do


def command(words: list[str]) -> tuple[str, list[str]]:
    """The name of a command and the words after it."""
    name = " ".join(words[:2]) if words[0] == "robot" else words[0]
    return name, words[len(name.split()) :]


def unknown_flags(line: str) -> list[str]:
    """Flags of a line that its command does not have."""
    name, rest = command(shlex.split(line)[1:])
    given = [word.removeprefix("--").replace("-", "_") for word in rest if word.startswith("--")]
    if name == "robot train":
        known = set(train_command.RobotFlags.__dataclass_fields__)
    else:
        known = set(inspect.signature(cli.COMMANDS[name].load()).parameters)
    return [flag for flag in given if flag not in known]


@pytest.mark.parametrize("line", LINES)
def test_every_line_to_type_is_a_command_with_such_flags(line):
    assert unknown_flags(line) == []


def test_a_flag_that_is_not_there_is_found():
    assert unknown_flags("ursa robot train --lnk udp://127.0.0.1:8007") == ["lnk"]
    assert unknown_flags("ursa robot emulate a1 --fautls x.toml") == ["fautls"]


@pytest.mark.parametrize("name", MENTIONED)
def test_every_command_that_is_mentioned_exists(name):
    assert name in cli.COMMANDS


@pytest.mark.parametrize("line", [it for it in LINES if "robot train" in it and "--link" in it])
def test_the_lines_that_train_pass_every_check_of_settings(line):
    flags = train_command.parse(shlex.split(line)[3:])
    _, out, live = train_command.settled(flags)
    assert str(out).startswith("outputs/")
    assert live.acknowledge == "operator"  # a robot's faults are for people


def test_the_fault_script_of_the_page_is_one():
    (text,) = [text for _, text in BLOCKS if "[[fault]]" in text]
    assert [fault.kind for fault in script.parse(tomllib.loads(text)).faults] == ["pull", "hot"]


def test_every_mode_and_everything_the_gate_may_say_is_explained():
    missing = [mode for mode in Mode if f"| {mode.name} |" not in PAGE]
    missing += [kind for kind in set(Kind) - UNEXPLAINED if not explained(kind)]
    assert missing == []


def explained(kind: str) -> bool:
    return f"`{kind}`" in PAGE or (kind.startswith("clamped to") and "`clamped to ...`" in PAGE)


def test_a_kind_that_nobody_explains_is_found():
    assert not explained("struck by lightning")


def the_example(folder, changed=lambda text: text):
    """The program of the page that sends poses, as a reader would have it."""
    (text,) = [text for _, text in BLOCKS if "URSAPOSE" in text]
    (folder / "poses.py").write_text(changed(text))
    return runpy.run_path(str(folder / "poses.py"))


def test_poses_that_the_example_sends_are_heard(tmp_path):
    receiver, example = where.Receiver(("127.0.0.1", 0)), the_example(tmp_path)
    example["send_poses"]([(0.5, -1.25, 3.0), (0.75, -1.0, -0.5)], receiver.local)
    found = receiver.receive()
    receiver.close()
    assert found == where.Where(count=2, x=0.75, y=-1.0, yaw=-0.5)
    assert receiver.counts["bad"] == 0
    assert len(example["pose"](1, 0.0, 0.0, 0.0)) == 48


def test_an_example_of_another_form_would_be_found(tmp_path):
    """Sabotage: x and y are 32-bit numbers."""
    broken = the_example(tmp_path, lambda text: text.replace("<8sQdddI", "<8sQffdI"))
    assert where.decode(broken["pose"](1, 0.0, 0.0, 0.0)) is None
