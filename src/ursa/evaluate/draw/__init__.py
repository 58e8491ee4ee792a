"""Figures of the paper and of this project: numbers first, then a picture of exactly those."""
