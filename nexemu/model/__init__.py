"""The model room: a language model's weights, made into files that a guest can read.

It fetches SmolLM2-135M, converts it to NexOS's asset files in a cache folder, and holds the
references in Python with which the guest's arithmetic and its tokenizer are compared. The
kernel knows nothing of it: an image folder is all that leaves this room.
"""
