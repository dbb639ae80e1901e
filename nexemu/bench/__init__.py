"""Measurements: what each thing costs, against what it could cost at best on the same computer."""
