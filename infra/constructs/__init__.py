"""The parts that the stacks are composed of, one subject a file; none of them knows another."""
