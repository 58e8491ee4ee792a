"""The doctor: every failure is injected, and each must come with its cure."""

import json
import subprocess
import sys
from importlib.metadata import PackageNotFoundError

import pytest

from ursa import doctor
from ursa.doctor import Check


def absent(name):
    raise PackageNotFoundError(name)


def explode():
    raise RuntimeError("no such\n  device")


def test_a_check_that_raises_is_a_failure_with_its_reason_on_one_line():
    (check,) = doctor.examine({"jax": explode})
    assert check == Check("jax", "fail", "RuntimeError: no such device", doctor.REINSTALL)


def test_a_warning_does_not_stop_training_and_a_failure_does():
    fine, poor, broken = (Check("a", status, "1") for status in ("ok", "warn", "fail"))
    assert doctor.ready([fine, poor])
    assert not doctor.ready([fine, poor, broken])


def test_lines_put_the_fix_under_its_problem():
    checks = [Check("python", "ok", "3.11"), Check("disk", "warn", "1 GB", "make room")]
    assert doctor.as_lines(checks) == (
        "ok    python  3.11\nwarn  disk    1 GB\n              -> make room\n\ntraining can run"
    )
    assert doctor.as_lines([Check("jax", "fail", "x")]).endswith("training cannot run: jax")


@pytest.mark.parametrize(("healthy", "code"), [(True, 0), (False, 1)])
def test_the_exit_code_says_whether_training_can_run(monkeypatch, capsys, healthy, code):
    python = (3, 12, 1) if healthy else (3, 10, 9)
    monkeypatch.setattr(doctor, "CHECKS", {"python": lambda: doctor.check_python(python)})
    assert doctor.doctor(json=True) == code
    report = json.loads(capsys.readouterr().out)
    assert report["ready"] is healthy
    assert report["checks"][0]["value"] == ".".join(map(str, python))


@pytest.mark.parametrize(
    ("check", "status", "cure"),
    [
        (doctor.check_python((3, 10, 0)), "fail", "3.11"),
        (doctor.check_library("optax", absent), "fail", "pip install"),
        (doctor.check_rendering(lambda _: False, "linux"), "warn", "apt-get install libegl1"),
        (doctor.check_memory(lambda: 1e9), "warn", "close other programs"),
        (doctor.check_disk(free=1e9), "warn", "make room"),
        (doctor.check_pybullet(absent), "ok", "pip install pybullet"),
    ],
    ids=lambda value: value.name if isinstance(value, Check) else None,
)
def test_every_problem_names_its_cure(check, status, cure):
    assert check.status == status
    assert cure in check.fix


def test_a_gpu_that_jax_does_not_use_is_a_warning():
    import jax

    if jax.default_backend() != "cpu":
        assert doctor.check_jax(gpu_present=True).status == "ok"
    else:
        check = doctor.check_jax(gpu_present=True)
        assert check.status == "warn"
        assert "ursa-robot[cuda]" in check.fix
        assert doctor.check_jax(gpu_present=False).status == "ok"


def test_the_second_gl_backend_is_found_when_the_first_does_not_draw():
    assert doctor.check_rendering(lambda name: name == "osmesa", "linux").value == (
        "MUJOCO_GL=osmesa"
    )
    assert doctor.check_rendering(lambda _: True, "linux").value == "MUJOCO_GL=egl, osmesa"


def test_a_gl_library_that_crashes_or_hangs_kills_only_its_own_process(monkeypatch):
    monkeypatch.setattr(doctor, "RENDER", "import os; os.abort()")
    assert not doctor.renders("egl")

    def hang(*_, **__):
        raise subprocess.TimeoutExpired("python", 60)

    monkeypatch.setattr(subprocess, "run", hang)
    assert not doctor.renders("egl")


def test_memory_is_read_from_the_table_or_else_from_the_system(tmp_path):
    table = tmp_path / "meminfo"
    table.write_text("MemTotal:  24 kB\nMemAvailable:     2000 kB\n")
    assert doctor.memory(table) == 2000 * 1024
    assert doctor.memory(tmp_path / "absent") > 1e8
    assert doctor.check_memory(lambda: None).status == "ok"


def test_a_system_ffmpeg_will_do_and_none_is_no_failure(monkeypatch):
    monkeypatch.setattr(doctor.importlib.util, "find_spec", lambda name: None)
    assert doctor.check_video(lambda name: "/usr/bin/ffmpeg").value == "ffmpeg of the system"
    check = doctor.check_video(lambda name: None)
    assert check.status == "ok"
    assert "ursa-robot[video]" in check.fix


def test_this_machine_can_train():
    command = [sys.executable, "-m", "ursa", "doctor", "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    report = json.loads(done.stdout)
    assert done.returncode == 0, done.stdout
    assert [check["name"] for check in report["checks"]] == list(doctor.CHECKS)
    assert report["ready"]
