"""What the Data page draws and does."""
