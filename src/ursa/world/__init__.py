"""The world model W: latent dynamics, heads, its loss, and dreaming in it. Knows no skills."""
