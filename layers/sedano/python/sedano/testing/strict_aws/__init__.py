"""Strict checks in the AWS clients of a process: a call that AWS would refuse fails before it is sent, with AWS's message.

The pytest plugin installs it for tests with the marker `strict_aws`.
"""
