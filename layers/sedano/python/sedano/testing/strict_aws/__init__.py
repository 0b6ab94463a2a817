"""A strict AWS below the clients of a process: a call that AWS would refuse fails before it leaves, in AWS's words.

The pytest plugin installs it for tests with the marker `strict_aws`.
"""
