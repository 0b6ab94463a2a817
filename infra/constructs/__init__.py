"""The constructs that the stacks are composed of, one file for each subject."""
