"""scikit-learn's conventions without importing it: a second that `import tmlcd_core` does not have."""

from __future__ import annotations

import inspect
from typing import Any, Self

import numpy as np

from tmlcd_core.errors import ConfigError


class Estimator:
    """Parameters by name, tags, a score: what scikit-learn's tools ask a classifier for."""

    _estimator_type = "classifier"

    @classmethod
    def _parameter_names(cls) -> list[str]:
        return sorted(name for name in inspect.signature(cls.__init__).parameters if name != "self")

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The constructor's parameters by name."""
        return {name: getattr(self, name) for name in self._parameter_names()}

    def set_params(self, **params: Any) -> Self:
        """Change parameters; they take effect at the next `fit`."""
        valid = self._parameter_names()
        for name, value in params.items():
            if name not in valid:
                raise ConfigError(f"Invalid parameter {name!r} for {type(self).__name__}: it has {', '.join(valid)}.")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self).__init__).parameters
        changed = (
            f"{name}={value!r}"
            for name, value in self.get_params().items()
            if repr(value) != repr(defaults[name].default)
        )
        return f"{type(self).__name__}({', '.join(changed)})"

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "classes_")

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True),
            transformer_tags=None,
            regressor_tags=None,
            classifier_tags=ClassifierTags(),
            input_tags=InputTags(),
        )

    def _require_fitted(self) -> None:
        if self.__sklearn_is_fitted__():
            return
        message = f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with initial samples first."
        try:  # scikit-learn's tools and river's wrapper look for this very class
            from sklearn.exceptions import NotFittedError
        except ImportError:
            raise ConfigError(message) from None

        class NotFitted(ConfigError, NotFittedError):
            """Both families' error."""

        raise NotFitted(message)

    def predict(self, X: Any) -> Any:
        raise NotImplementedError

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Mean accuracy of `predict(X)` on y."""
        return float(np.average(self.predict(X) == np.asarray(y), weights=sample_weight))
