"""Canvases: their form, their pages, the follow-ups of each place, and the joins of chords."""
