"""Boxed tasks: their programs as child processes of a worker, and the calls of them. Only a worker that runs one loads it."""
