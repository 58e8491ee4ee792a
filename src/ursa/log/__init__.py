"""The log: what a robot lived through, on disk for good when it is acknowledged. No JAX."""
