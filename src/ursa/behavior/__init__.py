"""Wanting things inside the dream: returns, critics, actor, multipliers, objective."""
