"""The lecture's exercises, posed with its numbers or with fresh ones, and answered by the experiments."""
