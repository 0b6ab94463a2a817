"""Sinks: the stores and services outside of a deployment that receive its documents."""
