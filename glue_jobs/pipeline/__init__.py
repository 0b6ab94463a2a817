"""The history of tasks as pure functions from DataFrame to DataFrame; only `job` and `session` touch the world."""
