"""Side by side with the peers: each script prints what docs/ shows."""
