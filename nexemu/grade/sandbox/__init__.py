"""A process for code that nobody has reason to trust."""
