"""Between processes: memory that outlives them, signs of life, and one clock. No JAX."""
