"""Of eta in weighted multi-source TrAdaBoost: the held-out error of the default over eta, on three sets of domains."""
