"""Measurements, one JSON object per line: python -m benchmarks.NAME."""
