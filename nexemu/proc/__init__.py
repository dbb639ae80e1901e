"""Processes: what one is, the table of them, and how a program becomes one."""
