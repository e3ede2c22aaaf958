"""Of heteroscedastic learning: AutoRec as a peer, ratings with planted deviations, tables of HGBM beside its peers."""
