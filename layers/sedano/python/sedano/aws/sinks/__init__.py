"""Sinks on AWS: services, and webhooks."""
