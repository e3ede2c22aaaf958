"""What the Transfer page draws and does."""
