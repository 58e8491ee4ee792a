"""The gate: what is said to the robot, what it answers, and what no command may break. No JAX."""
