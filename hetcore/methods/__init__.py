"""One algorithm, one file; `base` is the frame of every fit."""
