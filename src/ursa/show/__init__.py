"""Seeing a robot: pictures and videos without a screen. Nothing here loads GL before it draws."""
