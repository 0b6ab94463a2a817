"""Deploys a stage from a synthesised cloud assembly by AWS calls alone: no Node, no CDK, and no command line of another program.

`assembly` reads what the synthesis wrote, `account` finds out whose account it goes to, and `deployment` does the work."""
