"""The rules of logs, metrics and traces: which adapters a process uses, and the forms in which they write. Pure."""
