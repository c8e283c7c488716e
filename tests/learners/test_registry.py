"""Settings that the registry's learners share."""

import numpy as np
import pytest
from river import drift, neighbors

from tests.conftest import gaussian_stream
from tmlcd_core import ConfigError
from tmlcd_core.learners import LEARNERS, RiverLearner
from tmlcd_core.learners.registry import make_learner

NOT_KNN = {"svm", "nn-fc1", "nn-fc1-static", "nn-fc1-centred", "river-softmax", "river-tree", "river-forest"}
TINY = ("cit", "active", "hybrid", "static", "condensed", "incremental", "window")


def test_every_knn_has_neighbours_and_votes_as_settings():
    having = {name for name, entry in LEARNERS.items() if {"k", "weights"} <= set(entry.defaults())}
    assert having >= set(LEARNERS) - NOT_KNN - {"tandem"}
    assert all("storage" in LEARNERS[name].defaults() for name in TINY)


@pytest.mark.parametrize("name", [*TINY, "sam-knn", "knn-adwin"])
def test_neighbours_and_votes_change_what_a_knn_says(name):
    X0, y0, X, y = gaussian_stream(n=400, d=4, separation=0.7, seed=3)
    settings = [{"k": 5, "weights": "uniform"}, {"k": 5, "weights": "distance"}, {"k": 3, "weights": "distance"}]
    said = [make_learner(name, len(X0), changed=one).fit(X0, y0).run(X, y).predictions.tolist() for one in settings]
    assert said[0] != said[1] != said[2]


@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_votes_of_knn_adwin_are_rivers(weights):
    X0, y0, X, y = gaussian_stream(n=300, d=4, separation=0.7, seed=3)
    engine = neighbors.LazySearch(window_size=len(X0))
    knn = neighbors.KNNClassifier(n_neighbors=5, engine=engine, weighted=weights == "distance")
    direct = RiverLearner(drift.DriftRetrainingClassifier(knn, drift.ADWIN(), train_in_background=False))
    found = make_learner("knn-adwin", len(X0), changed={"weights": weights}).fit(X0, y0).run(X, y)
    np.testing.assert_array_equal(found.predictions, direct.fit(X0, y0).run(X, y).predictions)
    with pytest.raises(ConfigError, match="weights='none'"):
        make_learner("knn-adwin", 10, changed={"weights": "none"})
