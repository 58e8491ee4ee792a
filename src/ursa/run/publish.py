"""A trained agent as files: policy and critics (safetensors), repertoire (.npz), config."""

import logging
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import safetensors
import safetensors.numpy

from ursa import durable
from ursa.agent.state import AgentState
from ursa.config import Config
from ursa.errors import UserError
from ursa.run.corridor import Discovered
from ursa.run.folder import AGENT, CONFIG, REPERTOIRE, write_whole
from ursa.run.learner import Learner

FORMAT = {"name": "ursa-agent", "version": "2"}
KINDS = {"BOOL", "F16", "F32", "F64"} | {f"{sign}{n}" for sign in "IU" for n in (8, 16, 32, 64)}
PROMISED = "promised"  # in place of critics, where an agent is shipped
log = logging.getLogger(__name__)


def parts(state: AgentState, law: Any) -> dict[str, Any]:
    """What acting and valuing need; what dreaming needs besides is in the checkpoints."""
    world = state.world
    tree = {"encoder": world.encoder, "rssm": world.rssm}
    tree |= {"actor": state.actor, "critics": state.slow}
    return tree | ({"feature": law.feature} if isinstance(law, Discovered) else {})


def publish(learner: Learner, config: Config, steps: int, out: Path) -> None:
    """Write every seed's agent.

    An agent that holds a number that is not finite is not written: the last good one stays.
    """
    known = learner.law.repertoire if isinstance(learner.law, Discovered) else None
    everyone = jax.device_get((parts(learner.agent, learner.law), known))
    for index in range(config.seeds):
        tree, repertoire = jax.tree.map(lambda leaf, i=index: leaf[i], everyone)
        seed = config.seed + index
        if bad := unsound(tree):
            log.warning("step %d: seed %d is not published: %s", steps, seed, bad)
            continue
        place = out / f"seed_{seed}"
        write(place / AGENT, tree, steps)
        if repertoire is not None:
            repertoire.save(place / REPERTOIRE)
    write_whole(out / CONFIG, durable.to_json(asdict(config)))


def unsound(tree: Any) -> str:
    """Names of leaves with a number that is not finite; empty if all is well."""
    leaves = jax.tree_util.tree_leaves_with_path(tree)
    return ", ".join(
        jax.tree_util.keystr(at)
        for at, leaf in leaves
        if np.issubdtype(leaf.dtype, np.floating) and not np.isfinite(leaf).all()
    )


def write(path: Path, tree: Any, steps: int, *, half: bool = False) -> None:
    """Leaves by their path in the tree, and after how many control steps it was.

    `half` keeps 16 bits of each number (for shipping).
    """
    leaves = jax.tree_util.tree_leaves_with_path(tree)
    arrays = {jax.tree_util.keystr(at): np.asarray(leaf) for at, leaf in leaves}
    if half:
        arrays = {name: cut(array) for name, array in arrays.items()}
    write_whole(path, safetensors.numpy.save(arrays, metadata={**FORMAT, "steps": str(steps)}))


def read(path: Path, like: Any) -> Any:
    """The tree again; format, names and shapes must agree, and every number must be finite."""
    refuse_other_format(path)

    def leaf(file: Any, there: set[str], at: Any, wanted: Any) -> Any:
        name = jax.tree_util.keystr(at)
        if name not in there:
            raise UserError(f"{path} lacks {name}; it was made by another version or config")
        shape, kind = tuple(file.get_slice(name).get_shape()), file.get_slice(name).get_dtype()
        if shape != wanted.shape or kind not in KINDS:  # before a byte of it is read
            raise UserError(f"{path}: {name} has shape {shape} of {kind}, want {wanted.shape}")
        found = file.get_tensor(name)
        if found.dtype == np.uint16 and wanted.dtype == jnp.float32:
            found = (found.astype(np.uint32) << 16).view(np.float32)
        return jnp.asarray(found, wanted.dtype)

    with safetensors.safe_open(path, "np") as file:
        tree = jax.tree_util.tree_map_with_path(partial(leaf, file, set(file.keys())), like)
    if bad := unsound(jax.device_get(tree)):
        raise UserError(f"{path} holds numbers that are not finite: {bad}; use another copy")
    return tree


def refuse_other_format(path: Path) -> None:
    """Before the arrays are read: what they are called may have changed."""
    told = _told(path)
    if any(told.get(name) != value for name, value in FORMAT.items()):
        found = f"{told.get('name', 'unknown')} {told.get('version', '')}".strip()
        raise UserError(
            f"{path} has format {found}; this version of ursa reads "
            f"{FORMAT['name']} {FORMAT['version']}"
        )


def shipped(path: Path) -> bool:
    """Whether the file holds what critics promised in place of critics."""
    refuse_other_format(path)
    with safetensors.safe_open(path, "np") as file:
        return f"[{PROMISED!r}]" in set(file.keys())


def halved(path: Path) -> bool:
    """Whether its numbers were cut to 16 bits when it was written."""
    refuse_other_format(path)
    with safetensors.safe_open(path, "np") as file:
        names = set(file.keys())
        return all(file.get_slice(name).get_dtype() != "F32" for name in names)


def steps(path: Path) -> int:
    """After how many control steps of its seed an agent was written; 0 if it does not say."""
    said = _told(path).get("steps", "0")
    return int(said) if said.isdigit() else 0


def _told(path: Path) -> dict[str, str]:
    """What an agent's file says of itself; one that is missing or torn is an error."""
    try:
        durable.ordinary(path)  # a pipe would never open
        with safetensors.safe_open(path, "np") as file:
            return file.metadata() or {}
    except FileNotFoundError:
        raise UserError(f"{path} is missing; give the folder of a run that has saved") from None
    except (safetensors.SafetensorError, OSError, ValueError) as error:
        raise UserError(f"{path} cannot be read: {error}; use another copy") from error


def cut(array: np.ndarray) -> np.ndarray:
    """bfloat16 as the same bits in uint16, rounded to nearest."""
    if array.dtype != np.float32:
        return array
    bits = np.asarray(jnp.asarray(array).astype(jnp.bfloat16)).view(np.uint16)
    return bits
