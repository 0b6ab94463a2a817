"""The sources of calls outside of sedano: webhooks with their signature schemes, and records of streams."""
