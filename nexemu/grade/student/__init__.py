"""A student's functions behind the kernel's seam."""
