"""The gate between user programs and the kernel: traps and system calls."""
