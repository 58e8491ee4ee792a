"""The same agent with another objective or skill law; nothing is copied."""
