"""The errors of hetcore: each says what is wrong, where, and what to do, in one sentence."""

__all__ = ["ClusterError", "DataError", "MissingColumnsWarning", "ModelFileError", "ParameterError"]


class DataError(ValueError):
    """Data that cannot be used as they are: names the source, column and row where known, and the cure."""


class MissingColumnsWarning(UserWarning):
    """A table to predict from lacks columns of the training: names the source and the columns."""


class ParameterError(ValueError):
    """A parameter outside its domain: names the parameter, its value, the rule and the cure."""


class ModelFileError(ValueError):
    """A file that is not a valid model file of hetcore: names the reason."""


class ClusterError(RuntimeError):
    """A Dask cluster that cannot go on with a fit: names what is gone or failed, and the cure."""
