"""Seals and marks, which prove the origin of messages, and the keys of a stage that sign them."""
