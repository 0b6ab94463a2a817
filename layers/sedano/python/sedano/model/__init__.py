"""The pure floor: what things are and what follows from them. Standard library only; time, ids and randomness are arguments."""
