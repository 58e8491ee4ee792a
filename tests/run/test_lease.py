"""`runs/lease.py`: trainings that outlive the calls that watch them, on a machine that is lent."""

import contextlib
import importlib.util
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import pytest

from ursa import Agent
from ursa.errors import UserError
from ursa.evaluate.curve import learnt

RUNS = Path(__file__).parents[2] / "runs"
# In place of `ursa train`: a diary of 4,000 of 10,000 steps at --pace, then --for seconds.
TRAIN = """
import json, os, signal, sys, time
from pathlib import Path

def leave(*_):
    sys.exit(130)

told = dict(zip(sys.argv[3::2], sys.argv[4::2]))
signal.signal(signal.SIGTERM, signal.SIG_IGN if "--deaf" in told else leave)
out, pace = Path(told["--out"]), float(told.get("--pace", 0.001))
out.mkdir(parents=True)
(out / "config.json").write_text('{"train": {"steps": 10000}}')
lines = [{"step": 1000 * i, "time": time.time() + 1000 * pace * (i - 4)} for i in range(5)]
(out / "metrics.jsonl").write_text("".join(json.dumps(line) + "\\n" for line in lines))
share, mps = map(os.environ.get, ("XLA_PYTHON_CLIENT_MEM_FRACTION", "CUDA_MPS_PIPE_DIRECTORY"))
print("pid", os.getpid(), "share", share, "mps", mps, "on", os.environ["JAX_PLATFORMS"], flush=True)
time.sleep(float(told["--for"]))
print("the end", flush=True)
sys.exit(int(told.get("--status", 0)))
"""
PACK = """
import os, sys
from pathlib import Path

assert os.environ["JAX_PLATFORMS"] == "cpu"
if "spoilt" in sys.argv[1]:
    sys.exit("spoilt: wait for it")
out = Path(sys.argv[2])
out.mkdir(parents=True)
(out / "seed_0.tgz").write_text(sys.argv[1])
"""
WORDS = """
import json, shlex, sys

print(json.dumps({it.split(":")[0]: shlex.split(it.split(":")[1]) for it in sys.argv[1:]}))
"""


def loaded(name, monkeypatch):
    monkeypatch.syspath_prepend(str(RUNS))
    spec = importlib.util.spec_from_file_location(name, RUNS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)  # dataclasses look there
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def lease(tmp_path):
    """Calls of a checkout whose trainings are pretended; whoever still trains is ended."""
    away, home = tmp_path / "checkout", tmp_path / "home"
    (away / "src" / "ursa").mkdir(parents=True)
    (away / "src" / "ursa" / "__init__.py").touch()
    (away / "src" / "ursa" / "__main__.py").write_text(TRAIN)
    (away / "runs").mkdir()
    for name in ("lease.py", "keeper.py", "pace.py"):
        shutil.copy(RUNS / name, away / "runs")
    (away / "runs" / "pack.py").write_text(PACK)
    (away / "runs" / "words.py").write_text(WORDS)

    def call(out, *jobs, seconds=20.0, lease=1500, **settings):
        words = (home, tmp_path / out, *jobs, "--seconds", seconds, "--lease", lease)
        return subprocess.run(
            [sys.executable, str(away / "runs" / "lease.py"), *map(str, words)],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            env={**os.environ, **settings},
        )

    yield call
    for log in home.glob("*.log"):
        for pid in re.findall(rb"^pid (\d+)", log.read_bytes(), re.MULTILINE):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(int(pid), signal.SIGKILL)


def brought(place):
    return sorted(str(path.relative_to(place)) for path in place.glob("*/*.tgz"))


def test_trainings_outlive_the_call_and_whoever_dies_is_told_while_the_others_go_on(
    lease, tmp_path
):
    first = lease("one", "long: --for 6", "short: --for 0", "bad: --for 0 --status 3", seconds=3)
    assert first.returncode == 1
    assert "bad: died (3)" in first.stdout
    assert "the end" in first.stdout  # of its log
    assert "long: training, 4,000 steps, 1.00 ms a step" in first.stdout
    assert "short: packed" in first.stdout
    assert brought(tmp_path / "one") == ["short/seed_0.tgz"]
    begun = time.monotonic()
    second = lease("two")
    assert time.monotonic() - begun < 15  # not to the end of the call: all have ended
    assert "long: packed" in second.stdout
    assert second.returncode == 1  # it is told once more
    # What was brought home before is brought again: it may have been lost on the way.
    assert brought(tmp_path / "two") == ["long/seed_0.tgz", "short/seed_0.tgz"]


def test_the_same_call_twice_begins_nothing_anew(lease, tmp_path):
    jobs = ("one: --for 4", "two: --for 0")
    early = lease("out", *jobs, seconds=0)
    assert early.returncode == 0, early.stdout + early.stderr
    other = lease("out", "one: --for 4", "three: --for 0")
    assert (other.returncode, "other jobs were begun here" in other.stderr) == (2, True)
    assert lease("out", *jobs).returncode == 0
    assert brought(tmp_path / "out") == ["one/seed_0.tgz", "two/seed_0.tgz"]
    log = (tmp_path / "home" / "one.log").read_text()
    assert log.count("pid") == log.count("the end") == 1


def test_where_nothing_was_begun_nothing_is_watched(lease, tmp_path):
    lost = lease("out")
    assert (lost.returncode, "another machine" in lost.stderr) == (2, True)
    assert not (tmp_path / "home").exists()


def test_the_last_makes_room_and_the_first_never(lease, tmp_path):
    """600 s to go for each, and no time left; who does not listen is ended."""
    slow = "--pace 0.1 --for"
    jobs = (f"first: {slow} 8", f"second: {slow} 60 --deaf yes", f"third: {slow} 60")
    told = lease("out", *jobs, lease=0, LOOK="1", PATIENCE="1")
    assert told.returncode == 0, told.stdout + told.stderr
    told = json.loads((tmp_path / "home" / "told.json").read_text())
    states = {name: it["state"] for name, it in told.items()}
    assert states == {"first": "packed", "second": "let go (-9)", "third": "let go (130)"}
    log = (tmp_path / "home" / ".keeper.log").read_text()
    leaving = '"{}": {{"state": "leaving"'.format
    assert log.index(leaving("third")) < log.index(leaving("second"))
    assert brought(tmp_path / "out") == ["first/seed_0.tgz"]


def test_who_cannot_be_packed_is_told(lease, tmp_path):
    told = lease("out", "spoilt: --for 0")
    assert told.returncode == 1
    assert "spoilt: not packed (1)" in told.stdout
    assert "wait for it" in told.stdout


def test_a_keeper_that_dies_is_replaced_and_its_trainings_go_on(lease, tmp_path):
    """One is training then, one has been packed, one has ended while nobody kept it."""
    jobs = ("long: --for 9", "short: --for 0", "alone: --for 5")
    assert lease("out", *jobs, seconds=3).returncode == 0
    home = tmp_path / "home"
    found = subprocess.run(
        ["pgrep", "-f", f"keeper.py {home}"], capture_output=True, text=True, check=True
    )
    os.kill(int(found.stdout), signal.SIGKILL)
    time.sleep(4)
    told = lease("out")
    assert told.returncode == 0, told.stdout + told.stderr
    assert "a keeper is started" in told.stdout
    assert brought(tmp_path / "out") == [
        f"{name}/seed_0.tgz" for name in ("alone", "long", "short")
    ]
    assert [(home / f"{name}.log").read_text().count("pid") for name in ("long", "alone")] == [1, 1]


def test_a_job_that_cannot_be_brought_home_does_not_end_the_others(lease, tmp_path):
    lease("out", "first: --for 0", "second: --for 3", seconds=0)
    (tmp_path / "home" / "packed").write_text("in the way")
    told = lease("out")
    assert told.returncode == 1
    assert told.stdout.count("not packed ([Errno") >= 2
    assert "the end" in (tmp_path / "home" / "second.log").read_text()


def test_what_cannot_be_read_hides_nobody(lease, tmp_path):
    lease("out", "first: --for 3 --status 3", "second: --for 3", seconds=1)
    (tmp_path / "home" / "first.log").write_bytes(b"\xff why\n")
    (tmp_path / "home" / "outputs" / "first" / "metrics.jsonl").write_text("{damaged}\n")
    told = lease("out", seconds=0)
    assert "first: training, nothing to read" in told.stdout
    assert "second: training, 4,000 steps" in told.stdout
    assert "why" in lease("out").stdout


def test_diaries_come_home_of_those_who_do_not(lease, tmp_path):
    lease("out", "long: --for 30", seconds=2)
    with tarfile.open(tmp_path / "out" / "diaries.tgz") as archive:
        names = archive.getnames()
    assert {"long.log", ".keeper.log", "outputs/long/metrics.jsonl"} <= set(names)


def test_a_call_goes_on_where_something_cannot_be_brought_home(lease, tmp_path):
    (tmp_path / "out" / ".diaries").mkdir(parents=True)  # in the way
    told = lease("out", "one: --for 3")
    assert told.returncode == 0, told.stdout + told.stderr
    assert "not brought home: [Errno" in told.stdout
    assert brought(tmp_path / "out") == ["one/seed_0.tgz"]


def test_without_libraries_it_says_where_they_come_from(lease, tmp_path):
    words = tmp_path / "checkout" / "runs" / "words.py"
    words.write_text("import a_library_that_is_missing\n")
    told = lease("out", "one: --for 0")
    assert (told.returncode, "run runs/carry.sh" in told.stderr) == (2, True)


def test_programs_share_a_gpu(lease, tmp_path):
    server = tmp_path / "nvidia-cuda-mps-control"
    server.write_text(f'#!/bin/sh\necho "$*" > {tmp_path}/asked\n')
    server.chmod(0o755)
    settings = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "JAX_PLATFORMS": ""}
    lease("out", "one: --for 0", "two: --for 0", **settings)
    assert (tmp_path / "asked").read_text() == "-d\n"
    log = (tmp_path / "home" / "two.log").read_text()
    assert f"share 0.40 mps {tmp_path}/home/mps on cuda,cpu\n" in log


def test_a_job_is_a_seed_of_a_question_or_any_words(monkeypatch):
    words = loaded("words", monkeypatch).words
    robot = "--train.robots 1 --settle 0.05 --train.steps 360000 --train.steps-per-update 8"
    name, said = words("alone-daydreamer-1")
    assert (name, " ".join(said)) == (
        "alone-daydreamer-1",
        f"--robot a1 --task forward --method daydreamer {robot} --preset paper --seed 1 "
        "--train.checkpoint-every 360000",
    )
    assert words("forward-dominic-2")[1][-3:] == ["2", "--train.checkpoint-every", "1000000"]
    assert words("far: --preset tiny --dominic.distance 2") == (
        "far",
        ["--preset", "tiny", "--dominic.distance", "2", "--train.checkpoint-every", "1024"],
    )
    for odd in ("alone-nobody-1", "forward-ursa-2ms-0", "alone-ursa", "a/b: --preset tiny"):
        with pytest.raises(UserError, match="want"):
            words(odd)
    with pytest.raises(UserError, match=r"far: --preset = 'huge'"):
        words("far: --preset huge")


def test_the_end_is_foretold_by_the_newest_pieces(monkeypatch, tmp_path):
    """After a slow start 2 s for 1,000 steps: 6,000 more are 12 s from the last line, 1 s ago."""
    left = loaded("pace", monkeypatch).left
    assert left(tmp_path, 100) == (0, math.inf, math.inf)
    (tmp_path / "config.json").write_text('{"train": {"steps": 10000}}')
    ago = [101, 7, 5, 3, 1]  # seconds, of steps 0 to 4,000
    text = "".join(
        json.dumps({"step": 1000 * i, "time": 200 - t}) + "\n" for i, t in enumerate(ago)
    )
    (tmp_path / "metrics.jsonl").write_text(text + '{"step": {}')
    assert left(tmp_path, 200) == pytest.approx((4000, 2e-3, 11))


def test_minutes_in_which_something_is_compiled_are_no_pace(monkeypatch, tmp_path):
    """Two lines at 1 ms a step, one 100 s later, then 4 ms: as one robot alone begins."""
    left = loaded("pace", monkeypatch).left
    (tmp_path / "config.json").write_text('{"train": {"steps": 20000}}')
    times = [1, 2, 102, 106, 110]
    lines = [{"step": 1000 * (i + 1), "time": at} for i, at in enumerate(times)]

    def told(count):
        text = "".join(json.dumps(line) + "\n" for line in lines[:count])
        (tmp_path / "metrics.jsonl").write_text(text)
        return left(tmp_path, 110)

    assert [told(count)[1] for count in (1, 2, 3)] == [math.inf] * 3
    assert told(4) == pytest.approx((4000, 4e-3, 16 * 4 - 4))
    assert told(5) == pytest.approx((5000, 4e-3, 15 * 4))
    assert left(tmp_path, 140)[2] == 15 * 4 - 4  # a line is overdue: as if it came now


def test_a_pace_is_that_of_the_four_newest_pieces(monkeypatch, tmp_path):
    """5 s for 1,000 steps, 2 s from 8,000 on: the four newest know nothing of the slow ones."""
    left = loaded("pace", monkeypatch).left
    (tmp_path / "config.json").write_text('{"train": {"steps": 20000}}')
    times = [*(5 * i for i in range(8)), *(40 + 2 * i for i in range(5))]
    lines = [{"step": 1000 * i, "time": at} for i, at in enumerate(times)]
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert left(tmp_path, 50) == pytest.approx((12000, 2e-3, 14))  # 8,000 steps from 48 s on


def test_nobody_makes_room_while_the_share_of_who_ends_may_be_enough(monkeypatch):
    """1,800, 1,800 and 900 s at the present paces: 1,500 of the whole machine's."""
    spare = loaded("pace", monkeypatch).spare
    needed = {"a": 1800.0, "b": 1800.0, "c": 900.0}
    assert spare(needed, "a", 1500) is None
    assert spare(needed, "a", 1499) == "b"  # c would end in time
    assert spare(needed, "a", 800) == "c"
    assert spare(needed | {"c": math.inf}, "a", 1000) is None  # not known
    assert spare({"a": 1800.0, "b": 300.0, "c": 300.0}, "a", 750) is None  # nobody is late but a
    assert spare({}, "a", 0) is None


def test_who_says_nothing_for_long_has_no_end(monkeypatch, tmp_path):
    """Pieces of 30 s: the tenth is over after 300 s."""
    left = loaded("pace", monkeypatch).left
    (tmp_path / "config.json").write_text('{"train": {"steps": 20000}}')
    text = "".join(json.dumps({"step": 1000 * i, "time": 30 * i}) + "\n" for i in range(5))
    (tmp_path / "metrics.jsonl").write_text(text)
    assert left(tmp_path, 120 + 300)[2] == 16 * 30 - 30
    assert left(tmp_path, 120 + 301)[2] == math.inf


@pytest.mark.soak  # two programs of their own are compiled
@pytest.mark.usefixtures("quick")
def test_a_lease_brings_home_agents_that_can_be_measured(tmp_path):
    words = "--robot point --task point --preset tiny --steps"
    jobs = (f"two: {words} 320 --seeds 2", f"endless: {words} 1000000")
    times = ("--lease", "60", "--seconds", "240")
    told = subprocess.run(
        [sys.executable, "runs/lease.py", tmp_path / "home", tmp_path / "out", *jobs, *times],
        capture_output=True,
        text=True,
        check=False,
        cwd=RUNS.parent,
        env={**os.environ, "JAX_DISABLE_MOST_OPTIMIZATIONS": "1", "LOOK": "20"},
    )
    assert told.returncode == 0, told.stdout + told.stderr
    assert "endless: let go (130)" in told.stdout
    for archive in (tmp_path / "out" / "two").iterdir():
        with tarfile.open(archive) as opened:
            opened.extractall(tmp_path / "run", filter="data")
    assert [Agent.load(tmp_path / "run", seed).steps for seed in (0, 1)] == [320, 320]
    assert [learnt(tmp_path / "run", seed, 2).steps[-1] for seed in (0, 1)] == [320, 320]
