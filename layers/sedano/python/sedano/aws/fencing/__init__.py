"""Fencing."""
