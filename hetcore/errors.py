"""The errors of hetcore: each says what is wrong, where, and what to do, in one sentence."""

__all__ = [
    "ClusterError",
    "DataError",
    "DataTypeError",
    "MissingColumnsWarning",
    "ModelFileError",
    "ParameterError",
    "PrecisionWarning",
    "UnfamiliarValuesWarning",
    "UnscoredLabelsWarning",
]


class DataError(ValueError):
    """Data that cannot be used as they are: names the source, column and row where known, and the cure."""


class DataTypeError(DataError, TypeError):
    """Data of a type that can't be used, which scikit-learn wants to be a TypeError."""


class MissingColumnsWarning(UserWarning):
    """Data to predict from that lack what the training had: columns, values that can be read, or a part of its name."""


class PrecisionWarning(UserWarning):
    """Columns whose values 32-bit floats, by which trees split, hardly tell apart: names them, and the cure."""


class UnfamiliarValuesWarning(UserWarning):
    """Data to predict from whose values are not as in training: numbers far from its range, categories it had not."""


class UnscoredLabelsWarning(UserWarning):
    """Labels given to score by that a score leaves out, or of which none is a class of the training: says why."""


class ParameterError(ValueError):
    """A parameter outside its domain: names the parameter, its value, the rule and the cure."""


class ModelFileError(ValueError):
    """A file that is not a valid model file of hetcore: names the reason."""


class ClusterError(RuntimeError):
    """A Dask cluster that cannot go on with a fit: names what is gone or failed, and the cure."""
