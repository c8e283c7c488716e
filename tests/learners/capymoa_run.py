"""One run in CapyMOA, by its own Python: `capymoa_run.py STREAM.npz LEARNER` prints what it found as JSON."""

import json
import sys

import numpy as np
from capymoa.evaluation import prequential_evaluation
from capymoa.stream import NumpyStream

import tmlcd_core
from tmlcd_core.capymoa import TinyKNNClassifier

path, name = sys.argv[1:]
arrays = np.load(path)
stream = NumpyStream(arrays["X"], arrays["y"])
learner = getattr(tmlcd_core, name)()
model = TinyKNNClassifier(stream.get_schema(), learner, initial=int(arrays["initial"]))
results = prequential_evaluation(stream, model, store_predictions=True)
last = model.predict_proba(next(iter(NumpyStream(arrays["X"][-1:], arrays["y"][-1:]))))
found = {
    "name": str(model),
    "predictions": [None if p is None else int(p) for p in results.predictions()],
    "accuracy": float(results.accuracy()),
    "size": len(model.learner),
    "shares": last.tolist(),
    "given_is_untouched": not learner.__sklearn_is_fitted__(),
}
print(json.dumps(found))
