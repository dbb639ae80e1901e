"""Section 3 of the lecture: addresses, fragments, pages, copies on write, and memory that is too small."""
