"""Whenever the process dies, the newest checkpoint that was acknowledged is there and whole."""

import json
import subprocess
import sys

from trees import names, small
from ursa import checkpoint

KILLER = """
import json, os, random, signal, sys, time
from pathlib import Path
import numpy as np
from ursa import checkpoint, durable

folder, rng = Path(sys.argv[1]), random.Random(0)

def tree(step):
    return {"x": np.full(20_000, step, np.float32), "n": np.array(step)}

def newest():
    if not checkpoint.stored(folder):
        return 0
    loaded, meta = checkpoint.load(folder, tree(0))
    step = int(loaded["n"])
    assert (loaded["x"] == step).all() and meta == {"step": step}
    return step

def forked(begin, act):
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            act(begin, write)
        finally:
            os._exit(9)  # a child that was not killed has failed
    os.close(write)
    return child, read

def saves(begin, write):
    for step in range(begin + 1, begin + 10_000):
        checkpoint.save(folder, step, tree(step), {"step": step})
        os.write(write, f"{step} ".encode())

def judged(child, read, begin):
    status = os.waitpid(child, 0)[1]
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL, status
    acknowledged = [int(word) for word in os.fdopen(read).read().split()]
    last, found = max(acknowledged, default=begin), newest()
    # saved and not yet acknowledged is possible, once
    assert last <= found <= last + 1, (last, found)
    assert not list(folder.glob("*.damaged")), os.listdir(folder)
    return found

begin = kills = saved = 0
for _ in range(10):  # at any instant
    child, read = forked(begin, saves)
    time.sleep(rng.uniform(0.02, 0.2))
    os.kill(child, signal.SIGKILL)
    end = judged(child, read, begin)
    kills, saved, begin = kills + 1, saved + end - begin, end

points = [(durable, "write"), (durable, "sync_folder"), (durable, "rename"), (os, "replace"),
          (Path, "mkdir"), (Path, "rename"), (checkpoint.shutil, "rmtree"),
          (durable, "read_verified")]
reached = 0
for module, name in points:  # before each step of a save, and in the middle of each file
    for call in (1, 2, 3):
        def saves_until(begin, write, module=module, name=name, call=call):
            act, left = getattr(module, name), [call]
            def deadly(*arguments, **options):
                left[0] -= 1
                if left[0] == 0:
                    if name == "write":
                        with open(arguments[0], "wb") as file:
                            file.write(arguments[1][: len(arguments[1]) // 2])
                    os.kill(os.getpid(), signal.SIGKILL)
                return act(*arguments, **options)
            setattr(module, name, deadly)
            saves(begin, write)
        child, read = forked(begin, saves_until)
        begin = judged(child, read, begin)
        reached += 1

checkpoint.save(folder, begin + 1, tree(begin + 1), {"step": begin + 1})
left = sorted(os.listdir(folder))
print(json.dumps({"kills": kills, "saved": saved, "points": reached, "left": left}))
"""


def test_a_kill_at_any_instant_leaves_the_newest_acknowledged_checkpoint(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", KILLER, str(tmp_path)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["kills"] == 10
    assert told["points"] == 24
    assert told["saved"] >= 10
    end = int(told["left"][-1].removeprefix("step_"))
    assert told["left"] == [f"step_{step:09d}" for step in (end - 2, end - 1, end)]


def test_reading_leaves_a_save_in_progress_alone_and_the_next_save_clears_leftovers(tmp_path):
    checkpoint.save(tmp_path, 1, small(1), {})
    leftover = tmp_path / "tmp.step_000000002.4711"
    leftover.mkdir()
    (leftover / "arrays.safetensors").write_bytes(b"half")
    checkpoint.load(tmp_path, small(0))
    assert leftover.exists()
    checkpoint.save(tmp_path, 2, small(2), {})
    assert names(tmp_path) == ["step_000000001", "step_000000002"]
