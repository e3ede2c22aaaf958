"""What the Two learners page draws and does."""
