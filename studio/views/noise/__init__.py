"""What the Noise page draws and does."""
