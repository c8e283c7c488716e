"""Validation of features, labels and settings: features become finite float32 (n, d), labels ints or strings."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.errors import ConfigError, DataError

LONGEST_SHOWN = 120  # characters of a value in an error message


class NotNumbers(DataError, TypeError):
    """Features that cannot be converted to numbers; also a TypeError, as in numpy."""


def as_features(X: Any, n_features: int | None = None, owner: str = "the model") -> NDArray[np.float32]:
    """Check X and return it as a read-only, C-contiguous, finite float32 array (n, d).

    `n_features` is the required d, `owner` the name of the model in the error message.
    """
    refuse_masked("X", X)
    array = X if isinstance(X, np.ndarray) and X.dtype == np.float32 else _numeric(X)
    if array.ndim != 2:
        raise DataError(
            f"Expected 2D array, one sample a row, got {array.ndim}D array of shape {array.shape}; "
            "Reshape your data: X.reshape(1, -1) if it is one sample"
        )
    for size, what in zip(array.shape, ("sample", "feature"), strict=True):
        if size == 0:
            shown = f"(shape={array.shape})"
            raise DataError(f"Found array with 0 {what}(s) {shown} while a minimum of 1 is required: pass at least one")
    if n_features is not None and array.shape[1] != n_features:
        raise DataError(f"X has {array.shape[1]} features, but {owner} is expecting {n_features} features as input")
    _refuse_non_finite(array)
    with np.errstate(over="ignore"):
        result = np.ascontiguousarray(array, dtype=np.float32)
    if result is not array and array.dtype != np.float32:
        _refuse_non_finite(result, " once stored as float32", "scale the features down")
    # read-only: protects the caller's array, and the compiled code gets one array type only
    result = result.view()
    result.flags.writeable = False
    return result


def _numeric(X: Any) -> NDArray:
    if hasattr(X, "toarray") and hasattr(X, "nnz"):
        raise DataError("Sparse data were passed for X, but dense data are required: use X.toarray()")
    try:
        array = np.asarray(X)
    except ValueError as error:
        raise DataError(
            f"X is not a rectangular array of numbers ({error}): all samples need the same length"
        ) from error
    if array.dtype.kind == "O":
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise NotNumbers(f"X contains values that are not numbers: {error}") from error
    if array.dtype.kind == "c":
        raise DataError("Complex data not supported: take real and imaginary parts as separate features")
    if array.dtype.kind not in "fiub":
        raise DataError(f"X has the type {array.dtype}: convert it to numbers")
    return array


def refuse_masked(name: str, values: Any) -> None:
    """Raise a DataError for a masked array or a list that contains one: numpy would use the masked values."""
    parts = values if isinstance(values, list | tuple) else (values,)
    if any(isinstance(part, np.ma.MaskedArray) for part in parts):
        raise DataError(f"{name} is a masked array: pass {name}.filled(value), or remove the masked samples")


def _refuse_non_finite(array: NDArray, when: str = "", advice: str = "drop or repair such samples") -> None:
    finite = np.isfinite(array)
    if finite.all():
        return
    row, feature = (int(i[0]) for i in np.nonzero(~finite))
    what = "NaN" if np.isnan(array[row, feature]) else "infinity"
    raise DataError(
        f"Input X contains {what} (row {row}, feature {feature}; NaN and inf cannot be compared){when}: {advice}"
    )


def as_labels(y: Any, n: int | None = None, missing: bool = False) -> tuple[NDArray, NDArray[np.bool_]]:
    """Check y and return it as an int or string array, shape (n,), with a mask of the labels that are present.

    `n` is the required length. None and NaN are missing labels, allowed if `missing` is set.
    """
    if y is None:
        if missing and n is not None:
            return np.zeros(n, np.int64), np.zeros(n, bool)
        raise DataError("This estimator requires y to be passed, but the target y is None")
    refuse_masked("y", y)
    kind = getattr(y, "dtype", None)
    try:  # object dtype for lists, because numpy would turn ["a", 1] into strings, and for types that only pandas has
        array = np.asarray(y, dtype=kind if isinstance(kind, np.dtype) else object)
    except (TypeError, ValueError) as error:
        raise DataError(f"y is not a flat list of labels ({error})") from error
    if array.ndim == 2 and array.shape[1] == 1:
        _warn_column_vector()
        array = array.ravel()
    if array.ndim != 1:
        raise DataError(f"y should be a 1d array, got an array of shape {array.shape} instead")
    if n is not None and len(array) != n:
        raise DataError(f"Found input variables with inconsistent numbers of samples: X has {n}, y has {len(array)}")
    present = np.ones(len(array), bool)
    if array.dtype.kind == "O":
        present = np.array([not _is_missing(label) for label in array], bool)
    elif array.dtype.kind == "f":
        present = ~np.isnan(array)
    if not missing and not present.all():
        raise DataError("Input y contains NaN or None: drop the samples that have no label")
    return _one_kind(array, present), present


def _is_missing(label: Any) -> bool:
    try:
        return label is None or bool(label != label)
    except TypeError:  # pandas' NA has no truth value
        return True


def _one_kind(array: NDArray, present: NDArray[np.bool_]) -> NDArray:
    """Labels of one sortable type, int64 or str; missing labels get a placeholder."""
    if array.dtype.kind == "O":
        values = array[present].tolist()
        kinds = {"string" if isinstance(v, str) else "number" for v in values}
        if len(kinds) > 1:
            raise DataError(f"y mixes strings and numbers (such as {values[:4]!r}): use one kind of label")
        if kinds == {"string"} and (bad_label := next((v for v in values if v.endswith("\0")), None)) is not None:
            raise DataError(f"label {shown(bad_label)} ends with a NUL, which numpy drops: use a label without it")
        filler = "" if kinds == {"string"} else 0
        array = np.array([v if p else filler for v, p in zip(array.tolist(), present, strict=True)])
    elif array.dtype.kind == "f":
        array = np.where(present, array, 0.0)
    if array.dtype.kind == "f" and len(bad := array[~np.isfinite(array) | (array != np.round(array))]):
        raise DataError(f"Unknown label type: continuous; labels must be ints or strings, not {bad[0].item()!r}")
    if array.dtype.kind in "fu":
        if len(bad := array[np.abs(array) >= 2**63]):
            raise DataError(f"label {bad[0].item()!r} does not fit 64 bits: use smaller ints, or strings")
        return array.astype(np.int64)
    if array.dtype.kind in "iUb":
        return array
    raise DataError(f"Labels of type {array.dtype} are not supported: use strings, or ints that fit 64 bits")


def _warn_column_vector() -> None:
    from sklearn.exceptions import DataConversionWarning

    message = "A column-vector y was passed when a 1d array was expected."
    warnings.warn(message, DataConversionWarning, stacklevel=4)


def whole_number(name: str, value: Any, low: int, high: float = math.inf) -> int:
    """Return `value` as an int in low..high, or raise a ConfigError with `name` and value."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or not low <= value <= high:
        limit = f" and at most {high}" if high < math.inf else ""
        raise ConfigError(f"{name}={shown(value)} must be a whole number of at least {low}{limit}")
    return int(value)


def real_number(name: str, value: Any, low: float = -math.inf, high: float = math.inf) -> float:
    """Return `value` as a float in low..high, or raise a ConfigError with `name` and value; limits may be infinite."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.integer | np.floating):
        raise ConfigError(f"{name}={shown(value)} must be a number")
    try:
        number = float(value)
    except OverflowError as error:
        raise ConfigError(f"{name}={shown(value)} is too large: use a number below {sys.float_info.max:.1g}") from error
    if not low <= number <= high:  # also false for nan
        raise ConfigError(f"{name}={shown(value)} must lie between {low} and {high}")
    return number


def one_of(name: str, value: Any, choices: Collection[str]) -> str:
    """Return `value` if it is one of `choices`, or raise a ConfigError with `name` and value."""
    if not isinstance(value, str) or value not in choices:
        raise ConfigError(f"{name}={shown(value)} must be one of {', '.join(map(repr, choices))}")
    return value


def shown(value: Any) -> str:
    """Return `repr(value)` for an error message: one line of at most LONGEST_SHOWN characters that can be encoded.

    >>> shown("a" + chr(0xD800)), shown(10**5000)
    ("'a\\\\ud800'", 'a whole number of 16610 bits')
    """
    try:
        text = repr(value)
    except ValueError:  # Python does not write more than 4,300 digits
        text = f"a whole number of {value.bit_length()} bits" if isinstance(value, int) else type(value).__name__
    return one_line(text)


def one_line(text: str) -> str:
    """Return `text` as one line of at most LONGEST_SHOWN characters, with lone surrogates escaped.

    >>> len(one_line("a\\n b" + 200 * "c")), one_line("a" + chr(0xD800))
    (120, 'a\\\\ud800')
    """
    line = " ".join(text.encode("utf-8", "backslashreplace").decode().split())
    return line if len(line) <= LONGEST_SHOWN else line[: LONGEST_SHOWN - 1] + "…"
