"""The experiments of a course on operating systems for inference: rerun, beside what the lecture found."""
