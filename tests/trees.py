"""Trees for tests of checkpoints: a little of everything, bits compared, files spoilt."""

import jax
import jax.numpy as jnp
import numpy as np

NAN_WITH_A_PAYLOAD = np.array([0x7FC12345, 0x80000000, 0x7F800000], np.uint32).view(np.float32)


def tree(step=1):
    """A little of everything an agent is made of; `step` is in the numbers."""
    return {
        "weights": [jnp.arange(6.0).reshape(2, 3) + step, {"b.c": jnp.int32(step)}],
        "odd": jnp.array(NAN_WITH_A_PAYLOAD),
        "half": (jnp.arange(5.0) + step).astype(jnp.bfloat16),
        "mask": jnp.arange(4) % 2 == 0,
        "nothing": jnp.zeros((0, 3)),
        "key": jax.random.key(step),
        "keys": jax.random.split(jax.random.key(7, impl="rbg"), 3),
        "physics": {
            "time": np.array(0.1 * step),
            "columns": np.asfortranarray(np.arange(12.0).reshape(3, 4)),
            "every_other": np.arange(10, dtype=np.int64)[::2],
        },
    }


def bits(leaf):
    """dtype, shape and the very bits, of arrays and of random keys."""
    if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        return str(leaf.dtype), leaf.shape, np.asarray(jax.random.key_data(leaf)).tobytes()
    return str(leaf.dtype), leaf.shape, np.asarray(leaf).tobytes()


def same(left, right):
    assert jax.tree.structure(left) == jax.tree.structure(right)
    pairs = zip(jax.tree.leaves(left), jax.tree.leaves(right), strict=True)
    return all(type(a) is type(b) and bits(a) == bits(b) for a, b in pairs)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def small(step):
    return {"x": np.full(50, step, np.float32), "y": {"n": np.array(step)}}


def damage(path, way, rng):
    """Spoil one file in one way and return what puts it right again."""
    whole = path.read_bytes()
    where = rng.randrange(len(whole))
    if way == "flip":
        spoilt = bytearray(whole)
        spoilt[where] ^= 1 << rng.randrange(8)
        path.write_bytes(spoilt)
    elif way == "truncate":
        path.write_bytes(whole[:where])
    elif way == "extend":
        path.write_bytes(whole + bytes(1 + where % 9))
    else:
        path.unlink()
    return lambda: path.write_bytes(whole)
