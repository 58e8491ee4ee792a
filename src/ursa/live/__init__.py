"""Learning on a robot: its processes, the commands that start them, and their settings."""
