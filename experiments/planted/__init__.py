"""What the default of GBC is known to do on planted data: weights that rank, lambdas that are felt, movement."""
