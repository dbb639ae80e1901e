"""The SmolLM2 model: fetched, converted to guest assets, and a reference to check the guest by."""
