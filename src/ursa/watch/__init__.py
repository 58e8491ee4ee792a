"""See a robot move: by a script, or as an agent has learnt to."""
