"""The limits of tasks: how many run at a time, and how often they start."""
