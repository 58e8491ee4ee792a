"""A robot that is not there: its physics, its faults and its cable, behind real packets. No JAX."""
