"""What ``nexemu new`` writes: the exercise, and a handler that works in the naive way."""
