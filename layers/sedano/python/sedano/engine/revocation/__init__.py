"""Revocation."""
