"""An LLM server without a model: continuous batching over a request trace, in virtual time."""
