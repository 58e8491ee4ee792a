"""Where compiled programs are kept, and that a second start finds them there."""

import os
import subprocess
import sys
from pathlib import Path

START = """
import jax
from ursa.run.compiled import keep_programs
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
print(keep_programs())
print(jax.jit(lambda x: (x @ x).sum())(jax.numpy.ones((4, 4))))
"""


def start(home: Path, **changes: str) -> list[str]:
    """A fresh process of a user whose cache is at `home`."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("JAX_", "XDG_"))}
    environment = kept | {"XDG_CACHE_HOME": str(home), "JAX_PLATFORMS": "cpu"} | changes
    done = subprocess.run(
        [sys.executable, "-c", START], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def test_programs_are_kept_in_the_user_s_cache_and_a_second_start_adds_none(tmp_path):
    assert start(tmp_path) == [str(tmp_path / "ursa" / "programs"), "64.0"]

    def kept():
        return {p.name for p in (tmp_path / "ursa" / "programs").iterdir() if "atime" not in p.name}

    first = kept()
    assert first
    start(tmp_path)
    assert kept() == first


def test_a_place_chosen_before_stays(tmp_path):
    mine = tmp_path / "mine"
    assert start(tmp_path, JAX_COMPILATION_CACHE_DIR=str(mine))[0] == str(mine)
    assert not (tmp_path / "ursa").exists()
