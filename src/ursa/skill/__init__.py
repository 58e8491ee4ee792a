"""The skill corridor: posture -> feature -> repertoire -> kernel density -> skill."""
