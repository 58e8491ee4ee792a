"""A robot in real time: its wire, its gate and the link between them. No JAX in these files."""
