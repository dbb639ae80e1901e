"""What a handler must do: one function a check."""
