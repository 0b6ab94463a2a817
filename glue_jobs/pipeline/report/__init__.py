"""The report: one HTML file that needs nothing else. `gather` reads a few hundred figures off the tables, the rest draws them."""
