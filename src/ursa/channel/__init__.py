"""Two machines: what a robot and its learner say to each other, and the key they share. No JAX."""
