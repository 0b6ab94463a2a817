"""Deploys a stage from a synthesised cloud assembly by AWS calls alone: no Node, no CDK, and no command line of another program.

`assembly` reads the output of the synthesis, `account` determines the target account, and `deployment` deploys the stacks."""
