"""What the Playground page draws and does."""
