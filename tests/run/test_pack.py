"""Bringing a run home from a lent machine: `runs/away.sh` trains, `runs/pack.py` packs."""

import importlib.util
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import tarfile
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

from evaluate.born import born
from runs import TWO, arrays
from ursa import Agent
from ursa.errors import UserError
from ursa.evaluate.curve import learnt
from ursa.journal import Journal
from ursa.run import publish

pytestmark = pytest.mark.usefixtures("quick")
RUNS = Path(__file__).parents[2] / "runs"


@pytest.fixture(scope="module")
def program():
    spec = importlib.util.spec_from_file_location("pack", RUNS / "pack.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def unpacked(archives, place):
    for archive in archives:
        with tarfile.open(archive) as opened:
            opened.extractall(place, filter="data")
    return place


def test_what_comes_home_is_the_same_agent_in_16_bits(program, point, tmp_path):
    home = unpacked(program.pack(point, tmp_path / "packed"), tmp_path / "home")
    file = "agent/seed_0/agent.safetensors"
    assert publish.halved(home / file)
    whole, cut = arrays(point / file), arrays(home / file)
    assert whole.keys() == cut.keys()
    for name, array in whole.items():
        if array.dtype == np.float32:  # 8 bits of mantissa: half a unit of the last is 2 ** -9
            back = (cut[name].astype(np.uint32) << 16).view(np.float32)
            np.testing.assert_allclose(back, array, rtol=2**-8, atol=0)
        else:
            np.testing.assert_array_equal(cut[name], array)
    agent, other = Agent.load(home), Agent.load(point)
    assert (agent.config, agent.steps, agent.seed) == (other.config, 640, 0)
    np.testing.assert_array_equal(agent.skills, other.skills)
    for name in ("config.json", "metrics.jsonl", "environment.json"):
        assert (home / name).read_bytes() == (point / name).read_bytes()


def test_every_seed_brings_its_own_diary(program, tmp_path):
    run = born(TWO, tmp_path / "run")
    for name in ("config.json", "environment.json"):
        (run / name).write_bytes((run / "agent" / "config.json").read_bytes())
    with Journal(run, seeds=2, first=0, tensorboard=False) as journal:
        journal.write(640, {"robot/reward": [3.0, 4.0]})
    archives = program.pack(run, tmp_path / "packed", [1])
    home = unpacked(archives, tmp_path / "home")
    found = learnt(home, 1, 2)
    assert found is not None
    assert (found.steps.tolist(), found.mean.tolist()) == ([640.0], [4.0])
    assert learnt(home, 0, 2) is None  # was not asked for


def test_an_agent_that_is_not_at_the_end_stays_where_it_is(program, point, tmp_path):
    run = unpacked(program.pack(point, tmp_path / "packed"), tmp_path / "run")
    file = run / "agent" / "seed_0" / "agent.safetensors"
    early = {**publish.FORMAT, "steps": "512"}
    file.write_bytes(safetensors.numpy.save(arrays(file), metadata=early))
    with pytest.raises(UserError, match="512 of 640 steps"):
        program.pack(run, tmp_path / "again")
    assert not (tmp_path / "again").exists()


def away(*words, script="away.sh", **settings):
    return subprocess.run(
        ["bash", str(RUNS / script), *map(str, words)],
        capture_output=True, text=True, timeout=250, cwd=RUNS.parent,
        env={**os.environ, "PYTHON": sys.executable, **settings},
    )  # fmt: skip


@pytest.mark.soak  # two programs of their own are compiled
def test_a_training_outlives_the_command_that_began_it(program, tmp_path):
    there = tmp_path / "there"
    asked = ("--robot", "point", "--task", "point", "--preset", "tiny", "--steps", "320")
    fast = {"JAX_DISABLE_MOST_OPTIMIZATIONS": "1"}
    assert away("start", there, "first", *asked, "--seeds", "2", **fast).returncode == 0
    assert away("start", there, "second", *asked, "--steps", "100000", **fast).returncode == 0
    early = away("bring", there, "first", tmp_path / "early", 0)
    assert (early.returncode, early.stderr) == (1, "first is still training: wait first\n")
    assert away("drop", there, "second").returncode == 0
    assert away("drop", there, "second").returncode == 0  # it is gone, and nothing is said of it
    waited = away("wait", there, 240)
    assert (waited.returncode, waited.stdout[:33]) == (0, 'first: ended with 0; {"step": 320')
    packed = away("bring", there, "first", tmp_path / "packed", 0, 1)
    assert packed.returncode == 0, packed.stderr
    home = unpacked(sorted((tmp_path / "packed").iterdir()), tmp_path / "home")
    assert [Agent.load(home, seed).steps for seed in (0, 1)] == [320, 320]
    assert [learnt(home, seed, 2).steps[-1] for seed in (0, 1)] == [320, 320]


def test_who_has_ended_is_brought_home_once_while_the_others_go_on(point, tmp_path):
    """Of four runs one has ended well, one badly, one in part; one is still training."""
    there, early = tmp_path / "there", publish.FORMAT | {"steps": "512"}
    there.mkdir()
    for name in ("src", "runs"):
        (there / name).symlink_to(RUNS.parent / name)
    for name in ("done", "early", "failed", "training"):
        shutil.copytree(point, there / "outputs" / name)
    file = there / "outputs" / "early" / "agent" / "seed_0" / "agent.safetensors"
    file.write_bytes(safetensors.numpy.save(arrays(file), metadata=early))
    for name, ended in (("done", 0), ("early", 0), ("failed", 1)):
        (there / f"{name}.rc").write_text(f"{ended}\n")
    told = away("home", there, tmp_path / "out")
    assert told.returncode == 1  # of the one that is not at its end
    assert "early" in told.stderr
    assert "512 of 640 steps" in told.stderr
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["done"]
    home = unpacked((tmp_path / "out" / "done").iterdir(), tmp_path / "home")
    assert Agent.load(home).steps == 640
    (there / "early.rc").unlink()
    (there / "training.rc").write_text("0\n")
    again = away("home", there, tmp_path / "next")
    assert again.returncode == 0, again.stderr
    assert [path.name for path in (tmp_path / "next").iterdir()] == ["training"]
    assert away("home", there, tmp_path / "last").returncode == 0
    assert not (tmp_path / "last").exists()


def test_a_lease_is_calls_that_wait_drop_and_bring_home(point, tmp_path):
    """The last name makes room first, the first never; where nothing was begun nothing begins."""
    there, out = tmp_path / "there", tmp_path / "out"
    lost = away(there, out, script="lease.sh")
    assert (lost.returncode, "another machine" in lost.stderr) == (1, True)
    assert not there.exists()
    processes = {name: sleeper(there, name, 100) for name in ("first", "second", "third")}
    for name in ("src", "runs"):
        (there / name).symlink_to(RUNS.parent / name)
    (there / "names").write_text("first\nsecond\nthird\n")
    (there / "begun").write_text(str(int(time.time()) - 1600))
    try:
        told = away(there, out, script="lease.sh", CALL="12", LOOK="1")
        assert told.returncode == 0, told.stderr
        assert re.findall("dropping (.*)", told.stdout) == ["third", "second"]
        assert [name for name, it in processes.items() if it.poll() is None] == ["first"]
        shutil.rmtree(there / "outputs" / "first")
        shutil.copytree(point, there / "outputs" / "first")
        (there / "first.rc").write_text("0\n")
        begun = time.monotonic()
        told = away(there, out, script="lease.sh", CALL="60")
        assert told.returncode == 0, told.stderr
        assert time.monotonic() - begun < 30
        assert sorted(path.name for path in (out / "first").iterdir()) == ["rest.tgz", "seed_0.tgz"]
        (there / "begun").write_text(str(int(time.time()) - 4000))  # too late to wait
        assert away(there, out, script="lease.sh").returncode == 0
    finally:
        for process in processes.values():
            process.kill()


def test_runs_that_share_a_gpu_begin_side_by_side_with_the_settings_of_their_names(tmp_path):
    there, idle = tmp_path / "there", tmp_path / "idle"
    told = 'echo "$XLA_PYTHON_CLIENT_MEM_FRACTION $*"'
    idle.write_text(f'#!/bin/sh\ntest "$2" = ursa || exec {sys.executable} "$@"\n{told}\n')
    idle.chmod(0o755)
    server = tmp_path / "nvidia-cuda-mps-control"  # answers as if it ran
    server.write_text(f'#!/bin/sh\necho "$(cat)$*" >> {tmp_path}/asked\n')
    server.chmod(0o755)
    machine = {"PYTHON": str(idle), "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    for odd in ("alone-nobody-1", "forward-ursa-2ms-0", "alone-ursa"):
        wrong = away(there, "alone-ursa-0", odd, script="share.sh", **machine)
        assert (wrong.returncode, wrong.stderr[: len(odd) + 6]) == (2, f"{odd}: want")
    assert not there.exists()
    names = ("alone-daydreamer-1", "forward-dominic-2")
    first = away(there, tmp_path / "out", *names, script="lease.sh", CALL="60", **machine)
    assert (first.returncode, "config.json" in first.stderr) == (1, True)  # which nobody wrote
    assert (there / "names").read_text().split() == list(names)
    assert (tmp_path / "asked").read_text() == "get_server_list\n"  # not begun twice
    assert abs(int((there / "begun").read_text()) - time.time()) < 60
    said = [(there / f"{name}.log").read_text() for name in names]
    asked = "--robot a1 --task forward --method {} {}--preset paper --seed {}"
    robot = "--train.robots 1 --settle 0.05 --train.steps 360000 --train.steps-per-update 8 "
    settings = [("daydreamer", robot, 1, 360_000), ("dominic", "", 2, 1_000_000)]
    for name, text, (*setting, steps) in zip(names, said, settings, strict=True):
        start = f"0.40 -m ursa train --quiet --out outputs/{name} "
        end = f" --train.checkpoint-every {steps}\n"
        assert text == start + asked.format(*setting) + end


def test_a_training_that_dies_says_why(tmp_path):
    assert away("start", tmp_path, "bad", "--preset", "huge").returncode == 0
    waited = away("wait", tmp_path, 240)
    assert waited.returncode == 1
    assert "huge" in waited.stdout
    assert "bad: ended with 2" in waited.stdout


def paced(home, *words):
    return subprocess.run(
        [sys.executable, str(RUNS / "pace.py"), str(home), *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_end_of_a_training_is_foretold_by_its_newest_pieces(tmp_path):
    """After a slow start 2 s for 1,000 steps: 6,000 more are 12 s from the last line, 1 s ago."""
    run = tmp_path / "outputs" / "slow"
    run.mkdir(parents=True)
    (tmp_path / "slow.log").touch()
    early = paced(tmp_path, 1e9)
    assert (early.returncode, early.stdout) == (3, "slow: 0 steps, inf ms a step, inf s to go\n")
    assert paced(tmp_path, 1e9, "--known").returncode == 0
    (run / "config.json").write_text('{"train": {"steps": 10000}}')
    ago = [101, 7, 5, 3, 1]  # seconds, of steps 0 to 4,000
    now = time.time()
    lines = [{"step": 1000 * i, "time": now - t} for i, t in enumerate(ago)]
    (run / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines) + '{"st')
    left = runpy.run_path(str(RUNS / "pace.py"))["left"]
    assert left(run, now) == pytest.approx((4000, 2e-3, 11))
    told = paced(tmp_path, 60)
    assert told.returncode == 0
    assert re.fullmatch(r"slow: 4,000 steps, 2.00 ms a step, -?\d+ s to go\n", told.stdout)
    assert paced(tmp_path, -60).returncode == paced(tmp_path, -60, "--known").returncode == 3
    (tmp_path / "slow.rc").write_text("0")
    assert (paced(tmp_path, 2).returncode, paced(tmp_path, 2).stdout) == (0, "")


def test_minutes_in_which_something_is_compiled_are_no_pace(tmp_path):
    """Two lines at 1 ms a step, one 100 s later, then 4 ms: as one robot alone begins."""
    (tmp_path / "config.json").write_text('{"train": {"steps": 20000}}')
    times = [1, 2, 102, 106, 110]
    lines = [{"step": 1000 * (i + 1), "time": at} for i, at in enumerate(times)]
    left = runpy.run_path(str(RUNS / "pace.py"))["left"]

    def told(count):
        text = "".join(json.dumps(line) + "\n" for line in lines[:count])
        (tmp_path / "metrics.jsonl").write_text(text)
        return left(tmp_path, 110)

    assert [told(count)[1] for count in (1, 2, 3)] == [np.inf] * 3
    assert told(4) == pytest.approx((4000, 4e-3, 16 * 4 - 4))
    assert told(5) == pytest.approx((5000, 4e-3, 15 * 4))
    assert left(tmp_path, 1000)[2] == 15 * 4 - 4  # a line is overdue: as if it came now


def test_a_pace_is_that_of_the_four_newest_pieces(tmp_path):
    """5 s for 1,000 steps, 2 s from 8,000 on: the four newest know nothing of the slow ones."""
    (tmp_path / "config.json").write_text('{"train": {"steps": 20000}}')
    times = [*(5 * i for i in range(8)), *(40 + 2 * i for i in range(5))]
    lines = [{"step": 1000 * i, "time": at} for i, at in enumerate(times)]
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    left = runpy.run_path(str(RUNS / "pace.py"))["left"]
    assert left(tmp_path, 50) == pytest.approx((12000, 2e-3, 14))  # 8,000 steps from 48 s on


def sleeper(home, name, pace, *program):
    """A training that never ends, of which 6,000 steps are left at `pace` milliseconds each."""
    run = home / "outputs" / name
    run.mkdir(parents=True)
    (run / "config.json").write_text('{"train": {"steps": 10000}}')
    lines = [{"step": 1000 * i, "time": time.time() + (i - 4) * pace} for i in range(5)]
    (run / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (home / f"{name}.log").touch()
    process = subprocess.Popen(program or ["sleep", "100"], start_new_session=True)
    threading.Thread(target=process.wait, daemon=True).start()  # the dead are to be gone
    (home / f"{name}.pid").write_text(str(process.pid))
    return process


def test_who_may_be_spared_is_dropped_so_that_the_others_end_in_time(tmp_path):
    processes = {name: sleeper(tmp_path, name, 100) for name in ("kept", "first", "second")}
    ended = sleeper(tmp_path, "ended", 100)
    (tmp_path / "ended.rc").write_text("0")
    try:
        names, soon = ("ended", "first", "second"), int(time.time()) + 60
        early = away("wait", tmp_path, 4, soon + 3600, *names, LOOK="1")
        assert (early.returncode, "dropping" in early.stdout) == (0, False)
        waited = away("wait", tmp_path, 12, soon, *names, LOOK="1")
        assert waited.returncode == 0, waited.stderr
        assert re.findall("dropping (.*)", waited.stdout) == ["first", "second"]
        assert [name for name, it in processes.items() if it.poll() is None] == ["kept"]
        assert (tmp_path / "ended.rc").exists()
        assert ended.poll() is None
    finally:
        for process in (*processes.values(), ended):
            process.kill()


def test_who_would_end_within_a_minute_is_not_dropped_for_another(tmp_path):
    slow, quick = sleeper(tmp_path, "slow", 100), sleeper(tmp_path, "quick", 5)
    try:  # 600 and 30 seconds to go
        waited = away("wait", tmp_path, 4, int(time.time()) + 60, "quick", LOOK="1")
        assert waited.returncode == 0, waited.stderr
        assert "slow: 4,000 steps" in waited.stdout
        assert "dropping" not in waited.stdout
    finally:
        slow.kill()
        quick.kill()


def test_who_does_not_end_when_told_to_is_ended(tmp_path):
    deaf = sleeper(tmp_path, "deaf", 1, "sh", "-c", "trap '' TERM; sleep 100")
    time.sleep(0.5)
    assert away("drop", tmp_path, "deaf", PATIENCE="1").returncode == 0
    assert deaf.wait(10) == -9


def test_who_was_killed_is_waited_for_no_longer(tmp_path):
    killed = sleeper(tmp_path, "killed", 1)
    killed.kill()
    killed.wait()
    waited = away("wait", tmp_path, 60)
    assert (waited.returncode, waited.stdout[:25]) == (1, "killed: ended with a kill")


@pytest.mark.parametrize("by", ["first", "1690"])
def test_a_time_that_is_none_or_long_over_drops_nobody(tmp_path, by):
    refused = away("wait", tmp_path, 1, by, "first")
    assert (refused.returncode, refused.stderr[:14]) == (2, f"BY is {by}: want"[:14])


def test_a_name_that_is_begun_again_has_not_ended(tmp_path):
    idle = tmp_path / "idle"
    idle.write_text("#!/bin/sh\nsleep 1\n")
    idle.chmod(0o755)
    (tmp_path / "again.rc").write_text("1")
    assert away("start", tmp_path, "again", PYTHON=str(idle)).returncode == 0
    assert away("wait", tmp_path, 20).returncode == 0
    assert (tmp_path / "again.rc").read_text() == "0\n"
