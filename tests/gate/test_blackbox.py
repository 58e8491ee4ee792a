"""Black boxes: bad packets are in them byte by byte; fifty are kept, and that it is the last of
them is told once to whoever waits for the next."""

import json
from collections import Counter

import numpy as np
import pytest

from gate.gated import LIMITS, said
from ursa.errors import UserError
from ursa.gate import blackbox
from ursa.gate.blackbox import FOLDER, FULL, KEPT, BlackBox
from ursa.gate.link import newest
from ursa.gate.modes import Mode
from ursa.gate.wire import encode_state
from ursa.shared import place


@pytest.fixture
def folder(tmp_path):
    blackbox.create(tmp_path, 4)
    box = BlackBox(tmp_path)
    box.note(1.0, Mode.FAULT, None, LIMITS.limp, ())
    box.close()
    yield tmp_path
    place.forget(tmp_path)


def dumped(folder, times):
    """How many black boxes were written, and what was told, of so many faults."""
    written, told = 0, []
    for _ in range(times):
        try:
            written += blackbox.dump(folder, "a test") is not None
        except UserError as error:
            told.append(str(error))
    return written, told


def test_fifty_are_written_and_that_there_are_no_more_is_told_once(folder):
    assert dumped(folder, KEPT) == (50, [])
    written, told = dumped(folder, 5)
    assert written == 0
    assert len(told) == 1
    assert "holds 50 already, and no more are kept" in told[0]
    assert told[0] in (folder / FOLDER / FULL).read_text()


def noted(folder, *datagrams):
    """What the box on disk tells of datagrams that came one a cycle."""
    box = BlackBox(folder)
    for cycle, data in enumerate(datagrams):
        box.note(2.0 + cycle, Mode.RUN, newest([data], None, Counter()), LIMITS.limp, ())
    box.close()
    path = blackbox.dump(folder, "a test")
    assert path is not None
    about = path.with_suffix(".json")
    assert about.stat().st_size < 100_000
    return json.loads(about.read_text())["refused"]


def test_a_packet_that_was_refused_is_there_byte_by_byte_with_the_reason(folder):
    pressed = bytes([0x55, 0x51, 0x10, 0]) + bytes(36)
    bad = encode_state(said(5, gyro=np.array([0.0, np.nan, 0.0]), remote=pressed))
    good = encode_state(said(6))
    kept = noted(folder, bad, good, b"\x01\xff", b"")
    assert [it["bytes"] for it in kept] == [771, 2, 0]
    assert [it["now"] for it in kept] == [2.0, 4.0, 5.0]
    assert [bytes.fromhex(it["hex"]) for it in kept] == [bad, b"\x01\xff", b""]
    assert kept[0]["why"] == "not finite: gyro nan"
    line = blackbox.lines(folder)[0]  # of four; the button came with it
    assert (line["arrived"], line["remote"].tobytes()) == (blackbox.BAD, pressed)
    assert kept[1]["why"] == "length: 2 bytes, want 771"


def test_of_a_thousand_the_last_sixteen_are_there_and_of_a_long_one_its_beginning(folder):
    kept = noted(folder, *[count.to_bytes(2, "little") for count in range(1000)], bytes(60_000))
    assert [it["hex"] for it in kept[:2]] == ["d903", "da03"]  # 985 and 986
    assert len(kept) == 16
    assert kept[-1] == {**kept[-1], "bytes": 60_000, "hex": "00" * 2048}


def test_a_gate_that_hands_on_no_bytes_would_leave_none(folder, monkeypatch):
    monkeypatch.setattr("ursa.gate.link.replace", lambda found, data: found)
    (kept,) = noted(folder, b"\x01\xff")
    assert kept["hex"] == ""


def test_when_they_were_moved_away_there_is_room_again_and_its_end_is_told_again(folder):
    dumped(folder, KEPT + 1)
    for path in (folder / FOLDER).glob("0*"):
        path.unlink()
    assert dumped(folder, 1) == (1, [])
    written, told = dumped(folder, KEPT + 3)
    assert (written, len(told)) == (49, 1)
