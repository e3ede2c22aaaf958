"""What the Papers page draws and does."""
