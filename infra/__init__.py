"""The deployment of sedano as an AWS CDK app: one stack that remembers, one that runs."""
