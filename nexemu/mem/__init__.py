"""Physical frames, page tables, address spaces and the page-fault handler."""
