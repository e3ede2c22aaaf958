"""What the docstrings of HGBM for numbers and of HGBM for classes have in common."""

__all__ = ["ATTRIBUTES", "PARAMETERS"]

PARAMETERS = """
    Parameters
    ----------
    n_iterations : int, default={n_iterations}
        Rounds M at most; left-out rows say which are kept.
    learning_rate : float, default={learning_rate}
        Shrinkage of the label's trees, in (0, 1].
    deviation_rate : float, default={deviation_rate}
        Shrinkage of the deviation's trees, in (0, 1].
    max_depth : int, default=-1
        Depth of the trees in splits; -1 for no limit.
    max_leaf_nodes : int, default={max_leaf_nodes}
        Most leaves of a tree, grown best gain first; -1 for no limit.
    min_samples_leaf : int, default={min_samples_leaf}
        Fewest rows of a leaf.
    l2 : float, default=1.0
        Penalty lambda of the leaves of the label's trees, in rows.
    deviation_l2 : float, default=5.0
        Penalty lambda-bar of the leaves of the deviation's trees; above 0.
    min_gain : float, default=0.0
        Gain gamma of (24) that a split must exceed.
    subsample : float, default={subsample}
        Share of its rows that a tree is grown on, in (0, 1].
    column_sample : float, default={column_sample}
        Share of the columns that a tree may split by, in (0, 1]; three columns at least, where there are as many.
    deviation : {{"learned", "constant"}}, default="learned"
        "constant" is {constant}, exactly.
    link : {{{links}}}, default="{link}"
        {link_words}
    weighting : float, default={weighting}
        {weighting_words}
    alpha : float, default=1.0
        Of (10), for `link="sigmoid"`; above 0.
    delta : float, default=0.1
        Delta d of (10), for `link="sigmoid"`; above 0.
    omega : {{"leaves", "rows", "log"}} or None, default=None
        Omega of (10), for `link="sigmoid"`: `deviation_l2` for each leaf, (21); for each row, as (19) sums it; or for
        each leaf, with ln(alpha s(d) + delta) for each row, which is (6). None is "leaves" with `as_printed`, else
        "rows".
    folds : int, default=5
        Members of the ensemble, each trained without one part of the rows; 1 trains one model on all rows, whose
        deviation is then learned from training residuals and whose rounds are all kept.
    patience : int or None, default={patience}
        Rounds without a smaller loss on left-out rows before the fit ends; None does all and keeps all.
    as_printed : bool, default=False
        The paper's model to the letter: `folds=1`, `link="sigmoid"`, `weighting=1`, rates of 1, f and d from 0, labels
        and weights as they are, all rounds, no sampling, no calibration. Sizes of trees, penalties and `omega` are as
        given.
    random_state : int or None, default=0
        Seed of parts and samples; an int makes a fit repeatable bit for bit.
    n_jobs : int or None, default=None
        Threads, each for some members; None for 1.
    blend : bool, default=True
        Whether half of the model, more or less as left-out rows say, is a label forest that counts all rows alike."""

ATTRIBUTES = """
    Attributes
    ----------
    instance_weights_ : (n,) float64
        How much each training row counted in the last kept round; mean 1 over the rows that took part.
    n_iterations_, best_iteration_ : int
        Rounds done; rounds kept.
    history_ : polars DataFrame
        One row per round: "iteration", "seconds", "loss:SET", "metric:SET".
    n_features_in_ : int
        Columns of X."""
