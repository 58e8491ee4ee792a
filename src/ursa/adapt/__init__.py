"""Searching after damage: a Gaussian process over skills and Intelligent Trial and Error on it.

Plain numbers, no robot and no JAX; `ursa.repair` puts robots and agents to it.
"""
