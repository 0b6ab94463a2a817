"""The calls of tasks: signatures and their options, the parameters of functions, and the values of annotations."""
