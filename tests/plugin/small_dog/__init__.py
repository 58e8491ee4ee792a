"""Somebody else's package: a robot and a task for URSA, without a line changed in URSA."""
