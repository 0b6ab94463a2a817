"""The configuration of an application: its fields, the layers that give them values, and what a new version changes."""
