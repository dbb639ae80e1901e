"""Section 4 of the lecture: what a full cache should give up, and what each policy fails on."""
