"""Section 1 of the lecture: processes and threads, measured on the computer at hand."""
