"""Label encoding shared by all classifiers: labels as codes 0, 1, … of the sorted classes, which may grow."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError

from tmlcd_core.errors import ConfigError, DataError
from tmlcd_core.validation import as_features, as_labels, refuse_masked


class NotFitted(ConfigError, NotFittedError):
    """The model is not fitted yet: both a ConfigError and scikit-learn's NotFittedError."""


class CodedLabels:
    """Base class with the known classes `classes_` and the encoding of labels as class codes."""

    classes_: NDArray
    n_features_in_: int

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "classes_")

    def _require_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise NotFitted(f"This {type(self).__name__} is not fitted yet: call fit with initial samples first")

    def _rows(self, X: Any) -> NDArray[np.float32]:
        """Checked samples, float32 (n, n_features_in_)."""
        self._require_fitted()
        return as_features(X, self.n_features_in_, type(self).__name__)

    def _row(self, x: Any) -> NDArray[np.float32]:
        """One checked sample, float32 (1, n_features_in_); x has shape (d,) or (1, d)."""
        refuse_masked("x", x)
        X = self._rows(np.asarray(x)[None] if np.ndim(x) == 1 else x)
        if len(X) != 1:
            raise DataError(f"observe takes one sample, got {len(X)}: use run for a stream")
        return X

    def _encode(self, y: Any, n: int | None = None, missing: bool = False) -> tuple[NDArray[np.int32], NDArray]:
        """Encode y as codes in the sorted union of known and new classes (-1: no label); return codes and union."""
        labels, present = as_labels(y, n, missing)
        new = np.unique(labels[present])
        if len(new) == 0:
            return np.full(len(labels), -1, np.int32), self.classes_
        if (new.dtype.kind == "U") != (self.classes_.dtype.kind == "U"):
            raise DataError(
                f"label {new.tolist()[0]!r} has another type than the known classes {self.classes_[:4].tolist()}: "
                "use only strings or only ints"
            )
        classes = self.classes_ if np.isin(new, self.classes_).all() else np.union1d(self.classes_, new)
        return np.where(present, np.searchsorted(classes, labels), -1).astype(np.int32), classes

    def _know(self, classes: NDArray) -> None:
        self.classes_ = classes
        self._code_of: dict[Any, int] = {None: -1, **{label: i for i, label in enumerate(classes.tolist())}}

    def _recode(self, codes: NDArray[np.int32], classes: NDArray) -> NDArray[np.int32]:
        """Convert codes of the known classes to codes of their superset `classes`."""
        if classes is self.classes_:
            return codes
        return np.searchsorted(classes, self.classes_)[codes].astype(np.int32)

    def _adopt(self, classes: NDArray) -> None:
        """Replace the known classes by their superset `classes`."""
        self._know(classes)

    def _expect(self, classes: Any) -> Self:
        """Add classes that have no samples yet."""
        if classes is not None:
            self._adopt(self._encode(classes)[1])
        return self

    def _code(self, label: Any) -> int:
        """Class code of one label, -1 if it is missing; a new label is added to the known classes."""
        try:
            return self._code_of[label]
        except (KeyError, TypeError):  # a new label, NaN, or a value that is not a label
            codes, classes = self._encode([label], 1, missing=True)
        if classes is not self.classes_:
            self._adopt(classes)
        return int(codes[0])
