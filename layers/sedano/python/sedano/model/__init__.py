"""The pure floor: values, and the rules about them. Standard library only; time, ids and randomness are arguments."""
