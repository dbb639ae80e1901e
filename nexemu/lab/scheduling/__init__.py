"""Section 2 of the lecture: who runs next, and for how long."""
