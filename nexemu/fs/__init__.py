"""Files as bytes: inodes in RAM, pipes, the console, and the table of open files."""
