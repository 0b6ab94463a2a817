"""The process of the local AWS endpoint: ministack, behind a filter that only the stage's developer can pass.

It runs in an environment of its own, where the library's dependencies are not installed: the modules of this package use the
standard library, `hypercorn` and `ministack` alone.
"""
