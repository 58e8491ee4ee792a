"""What we want of the body: reward in named terms, cost, and what phi reads. No JAX."""
