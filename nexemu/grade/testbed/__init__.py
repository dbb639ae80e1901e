"""A machine on which checks make one instruction happen at a time, and see what it did."""
