"""What the two-learner paper shows, and a fair fight of arms on two modalities."""
