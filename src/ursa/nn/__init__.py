"""Parts with no meaning of their own: layers, distributions, optimizer, statistics."""
