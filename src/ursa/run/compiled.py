"""Compiled programs are kept between runs: starting or resuming the same one takes seconds."""

from pathlib import Path

import jax

from ursa.machine import cache


def keep_programs() -> Path:
    """Tell JAX where; a place that was chosen before (JAX_COMPILATION_CACHE_DIR) stays."""
    chosen = jax.config.values["jax_compilation_cache_dir"]
    if not chosen:
        chosen = str(cache() / "programs")
        jax.config.update("jax_compilation_cache_dir", chosen)
    return Path(chosen)
