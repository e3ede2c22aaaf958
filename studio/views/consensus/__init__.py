"""What the Consensus page draws and does."""
