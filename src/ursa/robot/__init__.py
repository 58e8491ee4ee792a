"""The body: specs, simulators, motion, estimation, damage. Imports neither JAX nor skills."""
