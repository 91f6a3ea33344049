"""The doors: what a person or an agent sees."""
