"""The history of tasks as pure functions from DataFrame to DataFrame; only `job` and `session` have side effects."""
