"""The KV cache of an LLM server as virtual memory: blocks, block tables, a prefix cache.

A library with no kernel in it. Tokens are what bytes are in a process, a block is a frame, a block
table a page table; sequences fork, share, copy on write and are swapped as processes are.
"""
