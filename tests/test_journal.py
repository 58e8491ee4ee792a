"""The journal says what happened once, in order, and hides nothing that is not finite."""

import errno
import io
import json
import math
import os
import struct
import subprocess
import sys

import jax.numpy as jnp
import numpy as np
import pytest
from rich.console import Console

from ursa import durable, journal
from ursa.errors import UserError
from ursa.journal import Journal, Progress


def lines(folder):
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def test_an_event_is_one_line_at_once(tmp_path):
    log = Journal(tmp_path, tensorboard=False)
    log.write(10, {"reward": jnp.float32(0.5), "updates": np.int64(3), "device": "cpu"})
    log.write(20, {"reward": jnp.array([0.25])}, kind="evaluation")
    first, second = lines(tmp_path)  # before it was closed
    assert {**first, "time": 0} == {
        "step": 10,
        "time": 0,
        "kind": "train",
        "reward": 0.5,
        "updates": 3,
        "device": "cpu",
    }
    assert (second["kind"], second["reward"]) == ("evaluation", 0.25)
    log.close()
    log.close()


def test_numbers_that_are_not_finite_become_null_and_are_named(tmp_path):
    with Journal(tmp_path) as log:
        log.write(1, {"a": math.nan, "b": 1.0, "c": np.float32(-np.inf), "d": jnp.bfloat16(2)})
    (event,) = lines(tmp_path)
    assert (event["a"], event["b"], event["c"], event["d"]) == (None, 1.0, None, 2.0)
    assert event["nonfinite"] == ["a", "c"]


def test_seeds_have_journals_of_their_own_and_the_mean_hides_no_nan(tmp_path):
    with Journal(tmp_path, seeds=3, tensorboard=False) as log:
        values = np.array([1.0, 2.0, 6.0], np.float32)
        log.write(1, {"reward": values, "cost": np.array([0.0, np.nan, 1.0]), "rate": 7})
    assert [lines(tmp_path / f"seed_{seed}")[0]["reward"] for seed in range(3)] == [1.0, 2.0, 6.0]
    assert [lines(tmp_path / f"seed_{seed}")[0]["rate"] for seed in range(3)] == [7, 7, 7]
    assert lines(tmp_path / "seed_1")[0]["nonfinite"] == ["cost"]
    assert "nonfinite" not in lines(tmp_path / "seed_2")[0]
    (mean,) = lines(tmp_path)
    assert (mean["reward"], mean["rate"], mean["cost"]) == (3.0, 7, None)
    assert mean["nonfinite"] == ["cost"]


def test_seeds_keep_their_numbers_when_the_first_is_not_zero(tmp_path):
    for resume in (None, 1):
        with Journal(tmp_path, seeds=2, first=5, resume=resume, tensorboard=False) as log:
            log.write(2 if resume else 1, {"reward": np.array([3.0, 4.0])})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["metrics.jsonl", "seed_5", "seed_6"]
    for seed, reward in ((5, 3.0), (6, 4.0)):
        told = [(it["step"], it["reward"]) for it in lines(tmp_path / f"seed_{seed}")]
        assert told == [(1, reward), (2, reward)]


def test_a_value_of_another_shape_or_a_reserved_name_is_refused(tmp_path):
    with Journal(tmp_path, seeds=3, tensorboard=False) as log:
        with pytest.raises(ValueError, match=r"reward has shape \(2,\), want \(\) or \(3,\)"):
            log.write(1, {"reward": np.zeros(2)})
        with pytest.raises(ValueError, match=r"\['step'\] are names"):
            log.write(1, {"step": 2})
    with pytest.raises(UserError, match="seeds = 0"):
        Journal(tmp_path, seeds=0)


def test_resuming_cuts_what_lies_beyond_so_that_no_line_comes_twice(tmp_path):
    with Journal(tmp_path, seeds=2, tensorboard=False) as log:
        for step in (10, 20, 30, 40):
            log.write(step, {"x": np.array([step, -step])})
    with open(tmp_path / "seed_1" / "metrics.jsonl", "ab") as file:
        file.write(b'{"step": 5, "x"')  # a line torn by a kill, or by the disk
    with Journal(tmp_path, seeds=2, resume=25, tensorboard=False) as log:
        for step in (30, 40, 50):
            log.write(step, {"x": np.array([step, -step])})
    for folder, sign in ((tmp_path / "seed_0", 1), (tmp_path / "seed_1", -1)):
        assert [event["step"] for event in lines(folder)] == [10, 20, 30, 40, 50]
        assert [event["x"] for event in lines(folder)] == [
            sign * step for step in (10, 20, 30, 40, 50)
        ]
    assert sorted(os.listdir(tmp_path / "seed_0")) == ["metrics.jsonl"]


def test_a_cut_that_fails_leaves_the_old_lines(tmp_path, monkeypatch):
    with Journal(tmp_path, tensorboard=False) as log:
        for step in (1, 2):
            log.write(step, {})
    before = (tmp_path / "metrics.jsonl").read_bytes()

    def refuse(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(durable, "rename", refuse)
    with pytest.raises(UserError, match="No space left on device"):
        Journal(tmp_path, resume=1, tensorboard=False)
    assert (tmp_path / "metrics.jsonl").read_bytes() == before


def test_a_second_run_does_not_write_into_the_journal_of_the_first(tmp_path):
    with Journal(tmp_path, tensorboard=False) as log:
        log.write(1, {})
    with pytest.raises(UserError, match=r"metrics.jsonl exists: resume that run or choose"):
        Journal(tmp_path)


def test_reading_passes_over_torn_lines(tmp_path):
    assert list(journal.read(tmp_path)) == []
    (tmp_path / "metrics.jsonl").write_bytes(b'{"step": 1}\n{"st\n[]\n{"step": 2}\n{"step": 3}')
    assert [event["step"] for event in journal.read(tmp_path)] == [1, 2]


def test_a_full_disk_costs_lines_but_neither_the_run_nor_the_next_line(
    tmp_path, monkeypatch, caplog
):
    write = os.write
    with Journal(tmp_path, tensorboard=False) as log:
        log.write(1, {"x": 1})
        # The disk takes ten bytes, then none: two ways to be full.
        monkeypatch.setattr(os, "write", lambda fd, data: write(fd, data[:10]))
        log.write(2, {"x": 2})

        def refuse(*_):
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(os, "write", refuse)
        log.write(3, {"x": 3})
        monkeypatch.setattr(os, "write", write)
        log.write(4, {"x": 4})
    assert [event["step"] for event in lines(tmp_path)] == [1, 4]
    assert [record.message for record in caplog.records] == [
        f"{tmp_path / 'metrics.jsonl'} loses lines from step 2 on: the disk took part of a line"
    ]


def test_a_killed_process_leaves_every_line_it_wrote(tmp_path):
    program = (
        "import os, signal, sys\nfrom pathlib import Path\nfrom ursa.journal import Journal\n"
        "log = Journal(Path(sys.argv[1]))\n"
        "for step in range(50): log.write(step, {'x': step / 7})\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True)
    assert done.returncode == -9, done.stderr
    assert [event["x"] for event in lines(tmp_path)] == [step / 7 for step in range(50)]
    assert len(events(tmp_path)) == 1 + 50


def events(folder):
    """Everything in the TensorBoard files of a folder, oldest file first."""
    from tensorboardX.proto.event_pb2 import Event

    found = []
    for path in sorted(folder.glob("events.*"), key=lambda path: path.stat().st_mtime_ns):
        data = path.read_bytes()
        while data:
            (length,) = struct.unpack("<Q", data[:8])
            found.append(Event.FromString(data[12 : 12 + length]))
            data = data[12 + length + 4 :]
    return found


def test_tensorboard_gets_the_finite_numbers_and_hides_what_a_resume_repeats(tmp_path):
    with Journal(tmp_path) as log:
        log.write(10, {"reward": 0.5, "cost": math.nan, "note": "hello"})
    version, event = events(tmp_path)
    assert version.file_version == "brain.Event:2"
    assert event.step == 10
    assert [(v.tag, v.simple_value) for v in event.summary.value] == [("train/reward", 0.5)]
    with Journal(tmp_path, resume=5) as log:
        log.write(10, {"reward": 0.5})
    *before, _, start, again = events(tmp_path)
    assert len(before) == 2
    assert (start.step, start.session_log.status) == (6, start.session_log.START)
    assert again.step == 10


def test_tensorboard_is_not_even_loaded_when_it_is_off(tmp_path):
    program = (
        "import sys\nfrom pathlib import Path\nfrom ursa.journal import Journal, Progress\n"
        "with Journal(Path(sys.argv[1]), tensorboard=False) as log: log.write(1, {'x': 1})\n"
        "with Progress(10, quiet=True) as progress: progress.update(1, {})\n"
        "print(sorted({'tensorboardX', 'rich', 'jax'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True
    )
    assert done.stdout.strip() == "[]", done.stderr
    assert os.listdir(tmp_path) == ["metrics.jsonl"]


# Progress


class Clock:
    """Time that passes when we say so."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


def shown(terminal, updates, width=200, **options):
    """What appears when a run tells of itself at these (seconds, step, metrics)."""
    clock, stream = Clock(), io.StringIO()
    console = Console(file=stream, force_terminal=terminal, width=width, color_system=None)
    with Progress(1000, console=console, clock=clock, **options) as progress:
        for seconds, step, metrics in updates:
            clock.now = 1000.0 + seconds
            progress.update(step, metrics)
    return stream.getvalue()


def test_in_a_file_a_line_comes_every_few_seconds_and_at_the_end():
    updates = [(second, 10 * second, {"reward": second / 10}) for second in range(13)]
    text = shown(False, updates, device="cpu", precision="float32")
    assert text.splitlines() == [
        "0%  0/1,000  - steps/s  ETA -  cpu  float32  reward 0",
        "5%  50/1,000  10 steps/s  ETA 1:35  cpu  float32  reward 0.5",
        "10%  100/1,000  10 steps/s  ETA 1:30  cpu  float32  reward 1",
        "12%  120/1,000  10 steps/s  ETA 1:28  cpu  float32  reward 1.2",
    ]


def test_the_rate_forgets_a_slow_start():
    updates = [(0, 0, {}), (100, 10, {}), *((100 + s, 10 + 20 * s, {}) for s in range(1, 31))]
    assert "  20 steps/s  " in shown(False, updates).splitlines()[-1]


@pytest.mark.parametrize("terminal", [False, True])
def test_a_pause_is_explained_and_the_end_is_foreseen_when_the_pace_has_settled(terminal):
    clock, stream = Clock(), io.StringIO()
    console = Console(file=stream, force_terminal=terminal, width=99, color_system=None)
    with Progress(1000, console=console, clock=clock, every=0.0) as progress:
        progress.update(0, {})
        progress.pause("compiling [red]x: seconds")
        clock.now += 60
        progress.update(10, {})
        clock.now += 60
        progress.start(20)
        for _ in range(12):
            clock.now += 1
            progress.update(20 + 10 * int(clock.now - 1120), {})
    text = stream.getvalue()
    assert text.count("compiling [red]x: seconds\n") == 1
    if not terminal:
        told = text.splitlines()
        assert told[1] == "compiling [red]x: seconds"
        assert told[2] == "1%  10/1,000  0 steps/s  ETA -"
        assert told[3] == "3%  30/1,000  10 steps/s  ETA -"
        assert ["ETA -" in line for line in told[3:]] == [True] * 9 + [False] * 3
        assert told[-1] == "14%  140/1,000  10 steps/s  ETA 1:26"


def test_the_end_needs_no_pace_to_be_foreseen():
    clock, stream = Clock(), io.StringIO()
    with Progress(1000, console=Console(file=stream), clock=clock, every=0.0) as progress:
        progress.start(900)
        clock.now += 1
        progress.update(1000, {})
    assert stream.getvalue() == "100%  1,000/1,000  100 steps/s  ETA 0:00\n"


def test_a_quiet_pause_is_silent(capsys):
    with Progress(1000, quiet=True) as progress:
        progress.pause("compiling")
        progress.start(0)
    assert capsys.readouterr() == ("", "")


def test_on_a_terminal_it_is_one_line_redrawn_and_cut_to_its_width():
    updates = [(second, 10 * second, {"a_long_name_for_a_metric": 1.0}) for second in range(3)]
    text = shown(True, updates, width=40)
    assert text.count("\n") == 1
    assert "…" in text
    assert max(len(part) for part in text.replace("\x1b[2K", "\r").split("\r")) <= 40 + 10


def test_a_metric_that_is_not_finite_is_shown_as_such_and_markup_as_text():
    text = shown(False, [(0, 1, {"reward": math.nan, "[red]x": 1.0})])
    assert "reward nan  [red]x 1" in text


def test_quiet_is_silent():
    assert shown(True, [(0, 1, {}), (9, 2, {})], quiet=True) == ""


@pytest.mark.parametrize(
    ("seconds", "text"), [(3723.4, "1:02:03"), (59, "0:59"), (math.nan, "-"), (-1, "0:00")]
)
def test_a_duration_reads_as_a_clock(seconds, text):
    assert journal.duration(seconds) == text
