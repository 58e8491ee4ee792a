"""Lambda-returns of any signal, any width.

    G_H = v_H,   G_t = share * x_{t+1} + gamma ((1 - lambda) v_{t+1} + lambda G_{t+1})

`share` is 1 for a sum and 1 - gamma for a discounted average. Written out, G is a fixed triangular
matrix times the signals and values: one product instead of a scan.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float


def lambda_returns(
    signal: Float[Array, "H N W"],
    value: Float[Array, "H+1 N W"],
    discount: float,
    return_lambda: float,
    share: float = 1.0,
) -> Float[Array, "H N W"]:
    """G_0 .. G_{H-1}; signal[t] is what arriving in state t + 1 brought, value[t] is of state t."""
    horizon = signal.shape[0]
    decay = discount * return_lambda
    power = np.subtract.outer(np.arange(horizon), np.arange(horizon))
    weights = np.where(power <= 0, decay ** np.maximum(-power, 0.0), 0.0)  # row t, column k >= t
    last = decay ** (horizon - np.arange(horizon))
    inner = share * signal + discount * (1 - return_lambda) * value[1:]
    summed = jnp.einsum("tk,knw->tnw", jnp.asarray(weights, inner.dtype), inner)
    return summed + jnp.asarray(last, inner.dtype)[:, None, None] * value[-1:]
