"""What the Collective page draws and does."""
