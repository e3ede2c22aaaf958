"""Transfer boosting with several sources (Antunes, Bernardino, Smailagic, Siewiorek) and its rivals."""
