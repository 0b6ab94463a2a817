"""The ledger: the records of tasks, the rules of claims and verdicts, and the index of failures."""
