"""The process of the local AWS endpoint: ministack behind a filter that accepts only requests of the stage's developer.

It runs in its own environment, where the library's dependencies are not installed: the modules of this package use only the standard
library, `hypercorn` and `ministack`.
"""
