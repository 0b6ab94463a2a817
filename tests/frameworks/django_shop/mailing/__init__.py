"""A reusable Django app, whose shared tasks a project includes by installing it."""
