"""A run that is killed at any instant goes on as if nothing had happened, bit for bit.

`URSA_KILLS=20 make test ARGS=tests/run/test_resume.py` kills more often than the 8 times of every
test run.
"""

import json
import random
import shutil
import signal
import subprocess
import sys
import time

import jax
import pytest

from runs import A1, POINT, Fate, Killed, differing, environment, lines, quickly
from sizes import SEED, patience, size
from ursa import checkpoint
from ursa.errors import UserError
from ursa.run.folder import config_of
from ursa.run.train import train

pytestmark = [pytest.mark.usefixtures("quick"), pytest.mark.timeout(patience("URSA_KILLS"))]
KILLS = size("URSA_KILLS")
REAL = max(2, KILLS // 4)  # by the kernel, of a process of its own
RIDDEN = KILLS // 4  # on the A1


def survive(monkeypatch, tmp_path, config, deaths):
    """Train a config through so many deaths; the folder of the last life, and how they came."""
    rng = random.Random(SEED)
    out, met = tmp_path / "life0", []
    for life in range(deaths + 1):
        grave = tmp_path / f"life{life + 1}"
        instant = rng.randint(1, 90) if life < deaths else None
        with monkeypatch.context() as patch:
            fate = Fate(patch, out, grave, instant)
            try:
                train(config, out, resume=(out / "config.json").exists(), quiet=True)
            except Killed:
                met.append(fate.kinds[-1])
                out = grave
    return out, met


def test_a_point_run_survives_deaths_at_random_instants(monkeypatch, tmp_path, point):
    deaths = KILLS - REAL - RIDDEN
    out, met = survive(monkeypatch, tmp_path, POINT, deaths)
    assert len(met) == deaths
    assert differing(out, point) == []
    assert lines(out) == lines(point)


def test_an_a1_run_survives_deaths_at_random_instants(monkeypatch, tmp_path, a1):
    out, met = survive(monkeypatch, tmp_path, A1, RIDDEN)
    assert len(met) == RIDDEN
    assert differing(out, a1) == []
    assert lines(out) == lines(a1)


@pytest.mark.parametrize("kind", ["half a file", "before a rename", "after a rename"])
def test_a_death_inside_a_save_is_survived(monkeypatch, tmp_path, point, kind):
    """A file is half there, or whole under another name, or the last thing that was done."""
    kinds = json.loads((point.parent / "instants.json").read_text())
    within = [n for n, name in enumerate(kinds, 1) if name == kind and "before a line" in kinds[:n]]
    out, grave = tmp_path / "life", tmp_path / "grave"
    with monkeypatch.context() as patch:
        Fate(patch, out, grave, random.Random(SEED).choice(within))
        with pytest.raises(Killed):
            train(POINT, out, quiet=True)
    train(POINT, grave, resume=True, quiet=True)
    assert differing(grave, point) == []
    assert lines(grave) == lines(point)


@pytest.mark.timeout(patience("URSA_KILLS", 1800))
def test_a_process_killed_by_the_kernel_goes_on_bit_for_bit(tmp_path, point):
    rng, out = random.Random(SEED), tmp_path / "run"
    words = [sys.executable, "-m", "ursa", "train", "--quiet"]
    start = ["--robot", "point", "--task", "point", "--preset", "tiny", "--steps", "640"]
    start += ["--train.checkpoint-every", "128", "--train.log-every", "48", "--train.patience", "8"]
    kills = 0
    while True:
        go_on = (out / "config.json").exists()
        process = subprocess.Popen(
            [*words, *(["--resume", str(out)] if go_on else [*start, "--out", str(out)])],
            env=environment(),
            stderr=subprocess.PIPE,
            text=True,
        )
        if kills < REAL:
            wait_for_life(process, out)
            time.sleep(rng.uniform(0, 0.3))
            process.send_signal(signal.SIGKILL)
        _, said = process.communicate(timeout=900)
        if process.returncode == -signal.SIGKILL:
            kills += 1
            continue
        assert process.returncode == 0, said
        break
    assert kills == REAL
    assert differing(out, point) == []
    assert lines(out) == lines(point)


def wait_for_life(process, out):
    """Until the run has written a line that it had not written when the process began."""
    journal = out / "metrics.jsonl"
    before = journal.stat().st_ino if journal.exists() else None  # a resumed run replaces the file
    while process.poll() is None:
        if journal.exists() and journal.stat().st_size and journal.stat().st_ino != before:
            return
        time.sleep(0.01)
    raise AssertionError(f"the run ended too early: {process.stderr.read()}")


def test_a_run_stopped_and_continued_differs_only_in_where_its_lines_are_cut(tmp_path, point):
    out, calls = tmp_path / "run", iter(range(10**6))
    stopped = train(POINT, out, quiet=True, stop=lambda: next(calls) == 77)
    assert stopped.column == 77
    assert checkpoint.stored(out / "checkpoints")[0].name == "step_000000308"
    train(POINT, out, resume=True, quiet=True)
    extra = 4 * 77
    assert [it["step"] for it in lines(out)] == sorted(
        {extra, *(it["step"] for it in lines(point))}
    )
    assert [name for name in differing(out, point) if not name.startswith("rows/")] == []


def test_a_finished_run_has_nothing_to_resume(tmp_path, point):
    out = tmp_path / "run"
    shutil.copytree(point, out)
    trainer = train(POINT, out, resume=True, quiet=True)
    assert trainer.column == trainer.plan.columns == 160
    assert differing(out, point) == []
    assert lines(out) == lines(point)


def test_a_run_that_lost_its_checkpoints_is_not_begun_anew_over_its_agent(tmp_path, point):
    out = tmp_path / "run"
    shutil.copytree(point, out)
    shutil.rmtree(out / "checkpoints")
    with pytest.raises(UserError, match="holds an agent but none of the checkpoints"):
        train(POINT, out, resume=True, quiet=True)
    assert lines(out) == lines(point)


def test_a_damaged_checkpoint_costs_time_but_not_the_run(tmp_path, point, caplog):
    out = tmp_path / "run"
    shutil.copytree(point, out)
    newest = checkpoint.stored(out / "checkpoints")[0] / "arrays.safetensors"
    data = bytearray(newest.read_bytes())
    data[len(data) // 2] ^= 1
    newest.write_bytes(bytes(data))
    train(POINT, out, resume=True, quiet=True)
    assert "step_000000640 is set aside as step_000000640.damaged" in caplog.text
    assert differing(out, point) == []
    assert lines(out) == lines(point)


def test_settings_changed_by_hand_are_refused_with_the_difference(tmp_path, point):
    out = tmp_path / "run"
    shutil.copytree(point, out)
    text = (out / "config.json").read_text().replace('"discount": 0.995', '"discount": 0.9')
    (out / "config.json").write_text(text)
    with pytest.raises(UserError, match=r"behavior.discount: 0.9 in config.json, 0.995 when"):
        train(config_of(out), out, resume=True, quiet=True)
    with pytest.raises(UserError, match=r"behavior.discount: 0.995 wanted, 0.9 in"):
        train(POINT, out, resume=True, quiet=True)


def test_an_old_run_is_never_written_over(point):
    with pytest.raises(UserError, match="continue it with --resume"):
        train(POINT, point, quiet=True)


@pytest.mark.soak  # compiles for a minute
@pytest.mark.timeout(600)
def test_programs_compiled_with_effort_go_on_bit_for_bit_too(tmp_path):
    def run(name, **changes):
        with quickly(False):
            train(POINT, tmp_path / name, quiet=True, **changes)

    jax.clear_caches()  # or programs compiled quickly for the tests above would do
    turns = iter(range(10**6))
    run("whole")
    run("halves", stop=lambda: next(turns) >= 77)
    assert checkpoint.stored(tmp_path / "halves" / "checkpoints")[0].name == "step_000000308"
    run("halves", resume=True)
    differ = [it for it in differing(tmp_path / "halves", tmp_path / "whole") if "rows/" not in it]
    assert differ == []
