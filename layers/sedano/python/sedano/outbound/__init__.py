"""Requests to addresses that users give: of the sources of polls, and of webhooks that are sinks."""
