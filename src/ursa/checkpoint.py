"""Checkpoints: any tree of arrays plus JSON, written so that a kill leaves the old or the new.

    step_000000123/
      arrays.safetensors   every leaf under its path in the tree; random keys as their key data,
                           bfloat16 as the same bits in uint16 (NumPy has no bfloat16)
      meta.json            whatever the caller wants to remember beside arrays
      manifest.json        format, step, tree (path: dtype, shape), size and SHA-256 of each file
                           and of itself

A checkpoint is written into a temporary folder, synced, read back, compared and renamed. No
`latest` pointer exists: the newest folder that verifies is the latest. One process writes;
others may read meanwhile.
"""

import logging
import os
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import safetensors
import safetensors.numpy

from ursa import durable
from ursa.errors import UserError

FORMAT = {"name": "ursa-checkpoint", "version": 1}
ARRAYS, META, MANIFEST = "arrays.safetensors", "meta.json", "manifest.json"
NAME = re.compile(r"step_(\d{9,})(?:\.(\d+))?")  # .1, .2: the step was reached and saved again
TEMPORARY = "tmp."
LARGEST_MANIFEST = 64 << 20  # bytes
SHOWN = 20  # differences listed before "and so many more"
STORABLE = {"bool", "float16", "float32", "float64", "bfloat16", "complex64"} | {
    f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)
}
Meta = dict[str, Any]
log = logging.getLogger(__name__)


def stored(folder: Path) -> list[Path]:
    """The checkpoints in a folder, newest first, good or not."""
    found = [
        (match, path) for path in folder.glob("step_*") if (match := NAME.fullmatch(path.name))
    ]
    found.sort(key=lambda pair: (int(pair[0][1]), int(pair[0][2] or 0)), reverse=True)
    return [path for _, path in found]


def save(folder: Path, step: int, tree: Any, meta: Mapping[str, Any], keep: int = 3) -> Path:
    """Store a tree and its meta as the newest checkpoint; the `keep` newest stay."""
    if step < 0 or keep < 1:
        raise UserError(f"checkpoint: step = {step}, keep = {keep}, want step >= 0 and keep >= 1")
    arrays = _named(tree)
    held = _on_host(arrays)
    bits = {name: _as_bits(array) for name, array in held.items()}
    files = {ARRAYS: safetensors.numpy.save(bits), META: durable.to_json(dict(meta))}
    described = {name: durable.describe(data) for name, data in files.items()}
    manifest = {
        "format": FORMAT,
        "step": step,
        "tree": signature(tree),
        "keys": {name: str(jax.random.key_impl(x)) for name, x in arrays.items() if is_key(x)},
        "files": described,
    }
    files[MANIFEST] = _sealed(manifest)
    described = {**described, MANIFEST: durable.describe(files[MANIFEST])}
    with durable.room_for(f"checkpoint {step}", folder, sum(map(len, files.values()))):
        path = _write(folder, _free_name(folder, step), files, described)
        _prune(folder, keep)
    return path


def load(
    folder: Path, like: Any, check: Callable[[Meta], object] | None = None
) -> tuple[Any, Meta]:
    """The newest whole checkpoint, as a tree like the given one (arrays or their shapes), and meta.

    `check(meta)` may raise UserError when something the checkpoint refers to is not there. A
    damaged checkpoint is set aside once an older one was found good; with none left, nothing
    is touched. A whole one of another format or tree is refused.
    """
    wrong: list[tuple[Path, str]] = []
    for path in stored(folder):
        try:
            manifest = _manifest(path)
            _refuse_another(path, manifest, signature(like))
            arrays, meta = _contents(path, manifest)
            _run(check, meta)
            tree = _restored(like, arrays, manifest["keys"])
        except ValueError as error:
            if path.exists():  # else the writer has just removed it as too old
                wrong.append((path, str(error)))
            continue
        except OSError as error:
            raise UserError(f"cannot read checkpoint {path}: {error.strerror or error}") from error
        for bad, reason in wrong:
            set_aside(bad, f"{reason}; going back to {path.name}")
        return tree, meta
    reasons = "".join(f"\n  {path.name}: {reason}" for path, reason in wrong)
    raise UserError(
        f"no usable checkpoint in {folder}"
        + (f"; each one is damaged:{reasons}" if wrong else "; is this the folder of a run?")
    )


def set_aside(path: Path, reason: str) -> Path:
    """Rename a checkpoint so that it is no longer used, and say so; nothing is deleted."""
    number = 0
    while (target := path.with_name(f"{path.name}.damaged{number or ''}")).exists():
        number += 1
    try:
        durable.rename(path, target)
    except OSError as error:
        log.warning("checkpoint %s is not used: %s (could not rename it: %s)", path, reason, error)
        return path
    log.warning("checkpoint %s is set aside as %s: %s", path, target.name, reason)
    return target


def signature(tree: Any) -> dict[str, list[Any]]:
    """Path -> [dtype, shape] of every leaf: what must agree for a tree to be loaded."""
    return {name: [str(leaf.dtype), list(leaf.shape)] for name, leaf in _named(tree).items()}


def differences(found: Mapping[str, list[Any]], wanted: Mapping[str, list[Any]]) -> list[str]:
    """How two signatures differ, one line per leaf."""

    def said(entry: list[Any]) -> str:
        return f"{entry[0]}[{','.join(map(str, entry[1]))}]"

    lines = []
    for name in sorted(found.keys() | wanted.keys()):
        if name not in found:
            lines.append(f"{name}: not in the file, wanted {said(wanted[name])}")
        elif name not in wanted:
            lines.append(f"{name}: {said(found[name])} in the file, not wanted")
        elif found[name] != wanted[name]:
            lines.append(f"{name}: {said(found[name])} in the file, wanted {said(wanted[name])}")
    return lines


def is_key(leaf: Any) -> bool:
    """Whether an array holds random keys, which are no numbers."""
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def _named(tree: Any) -> dict[str, Any]:
    """Leaves by path; a leaf that is no array has no place in a checkpoint."""
    leaves = {}
    for path, leaf in jax.tree_util.tree_flatten_with_path(tree)[0]:
        name = jax.tree_util.keystr(path)
        if not (hasattr(leaf, "dtype") and hasattr(leaf, "shape")):
            raise TypeError(f"checkpoint: leaf {name} is a {type(leaf).__name__}, want an array")
        if not is_key(leaf) and str(leaf.dtype) not in STORABLE:
            raise TypeError(f"checkpoint: leaf {name} has dtype {leaf.dtype}, which has no format")
        leaves[name] = leaf
    return leaves


def _on_host(leaves: Mapping[str, Any]) -> dict[str, np.ndarray]:
    plain = {name: jax.random.key_data(x) if is_key(x) else x for name, x in leaves.items()}
    return {name: np.asarray(x, order="C") for name, x in jax.device_get(plain).items()}


def _as_bits(array: np.ndarray) -> np.ndarray:
    """What safetensors can hold. Contiguous: it reads the memory without looking at strides."""
    return array.view(np.uint16) if array.dtype == jnp.bfloat16 else array


def _sealed(manifest: Mapping[str, Any]) -> bytes:
    """The manifest with its own hash in it. This rule holds for every format version."""
    return durable.to_json({**manifest, "self": durable.sha256(durable.to_json(manifest))})


def _free_name(folder: Path, step: int) -> str:
    newest = stored(folder)[:1]
    reached = [NAME.fullmatch(path.name) for path in newest]
    if not reached or reached[0] is None or int(reached[0][1]) < step:
        return f"step_{step:09d}"
    if int(reached[0][1]) > step:
        raise UserError(
            f"checkpoint {step} would be older than {newest[0]}: resume that run or choose "
            f"another folder"
        )
    return f"step_{step:09d}.{int(reached[0][2] or 0) + 1}"


def _write(
    folder: Path, name: str, files: Mapping[str, bytes], described: Mapping[str, Any]
) -> Path:
    """Write, sync, read back and compare, rename."""
    for leftover in folder.glob(f"{TEMPORARY}*"):
        shutil.rmtree(leftover, ignore_errors=True)
    temporary = folder / f"{TEMPORARY}{name}.{os.getpid()}"
    try:
        temporary.mkdir()
        for file, data in files.items():
            durable.write(temporary / file, data)
        durable.sync_folder(temporary)
        for file in files:
            durable.read_verified(temporary / file, described[file])
        durable.rename(temporary, folder / name)
    except ValueError as error:
        raise OSError(None, f"read back wrong: {error}") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return folder / name


def _prune(folder: Path, keep: int) -> None:
    """Remove all but the newest checkpoints of `keep` steps. Renamed first: never half there."""
    kept: set[str] = set()
    for path in stored(folder):
        step = path.name.partition(".")[0]
        if step not in kept and len(kept) < keep:
            kept.add(step)
            continue
        doomed = path.with_name(f"{TEMPORARY}{path.name}.old")
        try:
            path.rename(doomed)
            shutil.rmtree(doomed)
        except OSError as error:  # the new checkpoint stands; an old one too many does no harm
            log.warning("could not remove the old checkpoint %s: %s", path, error)


def _manifest(path: Path) -> dict[str, Any]:
    """The manifest, if not a byte of it is wrong; else ValueError."""
    file = path / MANIFEST
    try:
        data = durable.read_bounded(file, LARGEST_MANIFEST)
        manifest = durable.from_json(data)
        del manifest["self"]
        intact = data == _sealed(manifest)
    except (FileNotFoundError, NotADirectoryError):
        raise ValueError(f"{MANIFEST} is missing") from None
    except (ValueError, TypeError, KeyError):
        intact, manifest = False, {}
    if not intact:
        raise ValueError(f"{MANIFEST} does not agree with its own SHA-256")
    return manifest


def _refuse_another(path: Path, manifest: Mapping[str, Any], wanted: dict[str, list[Any]]) -> None:
    """UserError for a whole checkpoint that is not ours to load; ValueError for a malformed one."""
    if manifest.get("format") != FORMAT:
        raise UserError(
            f"checkpoint {path} has format {manifest.get('format')}, this version of URSA reads "
            f"{FORMAT}: use the version that wrote it"
        )
    if not _well_formed(manifest):
        raise ValueError(f"{MANIFEST} is malformed")
    lines = differences(manifest["tree"], wanted)
    if lines:
        more = f"\n  and {len(lines) - SHOWN} more" if len(lines) > SHOWN else ""
        raise UserError(
            f"checkpoint {path} is of another agent or configuration, {len(lines)} differences:\n  "
            + "\n  ".join(lines[:SHOWN])
            + more
        )


def _well_formed(manifest: Mapping[str, Any]) -> bool:
    """Whether the parts that the rest of this file relies on are there; hashes do not say so."""
    step, tree, keys, files = (manifest.get(name) for name in ("step", "tree", "keys", "files"))
    return (
        isinstance(step, int)
        and isinstance(tree, dict)
        and all(isinstance(entry, list) and len(entry) == 2 for entry in tree.values())
        and all(
            isinstance(dtype, str) and isinstance(shape, list) for dtype, shape in tree.values()
        )
        and isinstance(keys, dict)
        and isinstance(files, dict)
        and all(isinstance(files.get(name), dict) for name in (ARRAYS, META))
        and all(files[name].keys() == {"bytes", "sha256"} for name in (ARRAYS, META))
    )


def _contents(path: Path, manifest: Mapping[str, Any]) -> tuple[dict[str, np.ndarray], Meta]:
    """Arrays by path and the meta, both as the manifest describes them; else ValueError."""
    if (name := f"step_{manifest['step']:09d}") != path.name.partition(".")[0]:
        raise ValueError(f"{MANIFEST} is that of {name}")
    files, keys = manifest["files"], manifest["keys"]
    data = {name: durable.read_verified(path / name, files[name]) for name in (ARRAYS, META)}
    try:
        arrays = safetensors.numpy.load(data[ARRAYS])
    except (safetensors.SafetensorError, KeyError) as error:  # KeyError: numbers NumPy has not
        raise ValueError(f"{ARRAYS} is no safetensors file: {error}") from error
    found = {name: [str(array.dtype), list(array.shape)] for name, array in arrays.items()}
    if differences(_as_stored(found, keys), _as_stored(manifest["tree"], keys)):
        raise ValueError(f"{ARRAYS} holds other arrays than {MANIFEST} says")
    meta = durable.from_json(data[META])
    if not isinstance(meta, dict):
        raise ValueError(f"{META} is a {type(meta).__name__}, want names with values")
    return arrays, meta


def _as_stored(tree: Mapping[str, list[Any]], keys: Mapping[str, str]) -> dict[str, list[Any]]:
    """A signature as it looks in the file; how many words a key takes is its generator's affair."""
    bits = {"bfloat16": "uint16"}
    return {
        name: ["key", []] if name in keys else [bits.get(dtype, dtype), shape]
        for name, (dtype, shape) in tree.items()
    }


def _run(check: Callable[[Meta], object] | None, meta: Meta) -> None:
    try:
        if check is not None:
            check(meta)
    except UserError as error:
        raise ValueError(str(error)) from error


def _restored(like: Any, arrays: Mapping[str, np.ndarray], keys: Mapping[str, str]) -> Any:
    """Arrays in the places of a tree: NumPy where it has NumPy, on the device elsewhere."""

    def leaf(path: Any, wanted: Any) -> Any:
        name = jax.tree_util.keystr(path)
        if name in keys:
            return jax.random.wrap_key_data(jnp.array(arrays[name]), impl=keys[name])
        array = arrays[name].view(wanted.dtype)  # bfloat16 was stored as its bits
        # A copy: the array is a view of the file's bytes, and JAX may donate what it is given.
        return array.copy() if isinstance(wanted, np.ndarray | np.generic) else jnp.array(array)

    return jax.tree_util.tree_map_with_path(leaf, like)
