"""A class: many submissions, one table."""
