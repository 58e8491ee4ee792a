"""Linear, norm, hidden layer, and towers of them: the conventions of DayDreamer's networks.

Parameters are float32; products run in the dtype of the input (bfloat16 on a GPU), norms in
float32. Weights start uniform with variance scale / mean(fan_in, fan_out). They are drawn with
numpy: compiling an initialiser costs more than running it.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ursa.nn.fused import fanned, norm_elu, spread, standardised

OUTPUT_SCALE = 0.1  # variance scale of output layers


def draw(rng: np.random.Generator, shape: tuple[int, ...], fans: int, scale: float = 1.0) -> Array:
    """Uniform weights; `fans` is fan_in + fan_out of the whole product they belong to."""
    limit = np.sqrt(3 * scale / (fans / 2))
    return jnp.asarray(rng.uniform(-limit, limit, shape), jnp.float32)


class Linear(eqx.Module):
    """x W (+ b)."""

    weight: Float[Array, "I O"]
    bias: Float[Array, " O"] | None

    def __call__(self, x: Float[Array, "*b I"]) -> Float[Array, "*b O"]:
        y = x @ self.weight.astype(x.dtype)
        return y if self.bias is None else y + jnp.broadcast_to(self.bias, y.shape).astype(x.dtype)


class Norm(eqx.Module):
    """Layer norm over the last axis, in float32."""

    scale: Float[Array, "*k O"]
    offset: Float[Array, "*k O"]

    def __call__(self, x: Float[Array, "*b O"]) -> Float[Array, "*b O"]:
        hat, _ = standardised(x)
        return (hat * spread(self.scale, x.ndim) + spread(self.offset, x.ndim)).astype(x.dtype)

    def elu(self, x: Float[Array, "*b O"]) -> Float[Array, "*b O"]:
        """The norm, then ELU."""
        return norm_elu(x, self.scale, self.offset)


class Hidden(eqx.Module):
    """Linear without bias, norm, ELU. Inputs may come in parts: the first product is theirs."""

    weight: Float[Array, "I O"]
    norm: Norm

    def __call__(self, x: Float[Array, "*b I"]) -> Float[Array, "*b O"]:
        return self.norm.elu(x @ self.weight.astype(x.dtype))


class Towers(eqx.Module):
    """K networks of one shape side by side, as batched products: one input, K outputs.

    Rows of one tower never meet those of another, so K towers equal K separate networks; but the
    first product is one wide one (but on a CPU) and the rest are K at a time. `side` is a second
    input that is the same along the leading axes (a skill held during a dream): its product is
    made once.
    """

    weights: tuple[Float[Array, "K _I O"], ...]  # from the input, then from O to O
    side_in: Float[Array, "K D O"]
    norms: tuple[Norm, ...]
    out: Float[Array, "K O W"]
    bias: Float[Array, "K W"]

    def __call__(
        self, x: Float[Array, "*b N I"], side: Float[Array, "N D"] | None = None
    ) -> Float[Array, "K *b N W"]:
        rows = x.reshape(-1, x.shape[-1])
        y = fanned(rows, self.weights[0].astype(x.dtype))
        if side is not None:
            part = fanned(side.astype(x.dtype), self.side_in.astype(x.dtype))
            shape = (y.shape[0], y.shape[1] // part.shape[1], *part.shape[1:])
            y = (y.reshape(shape) + part[:, None]).reshape(y.shape)
        y = self.norms[0].elu(y)
        for weight, norm in zip(self.weights[1:], self.norms[1:], strict=True):
            y = norm.elu(jnp.einsum("kni,kio->kno", y, weight.astype(x.dtype)))
        z = jnp.einsum("kni,kiw->knw", y, self.out.astype(x.dtype)).astype(jnp.float32)
        z = z + jnp.broadcast_to(self.bias[:, None, :], z.shape)
        return z.reshape(z.shape[:1] + x.shape[:-1] + z.shape[-1:])

    def only(self, first: int) -> "Towers":
        """The towers from `first` on."""
        return jax.tree.map(lambda leaf: leaf[first:], self)


def norm(size: int) -> Norm:
    return Norm(jnp.ones(size, jnp.float32), jnp.zeros(size, jnp.float32))


def linear(
    rng: np.random.Generator, fan_in: int, fan_out: int, *, bias: bool = True, scale: float = 1.0
) -> Linear:
    weight = draw(rng, (fan_in, fan_out), fan_in + fan_out, scale)
    return Linear(weight, jnp.zeros(fan_out, jnp.float32) if bias else None)


def hidden(rng: np.random.Generator, fan_in: int, fan_out: int) -> Hidden:
    return Hidden(draw(rng, (fan_in, fan_out), fan_in + fan_out), norm(fan_out))


def stack(rng: np.random.Generator, fan_in: int, units: int, layers: int) -> tuple[Hidden, ...]:
    """`layers` hidden layers of the same width."""
    return tuple(hidden(rng, fan_in if i == 0 else units, units) for i in range(layers))


def towers(
    rng: np.random.Generator,
    fan_in: int,
    widths: tuple[int, ...],
    units: int,
    layers: int,
    side: int = 0,
    scale: float = OUTPUT_SCALE,
) -> Towers:
    """One tower for each output width; narrower outputs are padded with zeros."""
    count, width = len(widths), max(widths, default=0)
    ins = [fan_in] + [units] * (layers - 1)
    fans = [fan_in + side + units] + [2 * units] * (layers - 1)
    weights = tuple(draw(rng, (count, i, units), f) for i, f in zip(ins, fans, strict=True))
    norms = tuple(
        Norm(jnp.ones((count, units), jnp.float32), jnp.zeros((count, units), jnp.float32))
        for _ in ins
    )
    out = np.zeros((count, units, width), np.float32)
    for k, w in enumerate(widths):
        out[k, :, :w] = np.asarray(draw(rng, (units, w), units + w, scale))
    side_in = draw(rng, (count, side, units), fans[0])
    bias = jnp.zeros((count, width), jnp.float32)
    return Towers(weights, side_in, norms, jnp.asarray(out), bias)


def run(layers: tuple[Hidden, ...], x: Float[Array, "*b I"]) -> Float[Array, "*b O"]:
    """The layers one after the other."""
    for layer in layers:
        x = layer(x)
    return x
