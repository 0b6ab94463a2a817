"""The history: the order of events, the states of tasks that they give, their sums and costs, and the manifests of its files."""
