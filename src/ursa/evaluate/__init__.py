"""Numbers about finished skills: rollouts, coverage, tracking, damage. Truth is used here only."""
