"""A grade, for people and for other programs."""
