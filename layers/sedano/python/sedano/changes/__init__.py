"""Changes of a stage that a person asks for, on the command line or on a page: first a plan with a count, then the change."""
