"""Stream learners: the paper's three adaptive kNNs, Tandem and the baselines."""

from tmlcd_core.learners.active import ActiveTinyKNN
from tmlcd_core.learners.baselines import IncrementalKNN, StaticKNN
from tmlcd_core.learners.comparison_learner import ComparisonLearner
from tmlcd_core.learners.condensing_in_time import CondensingInTime
from tmlcd_core.learners.hybrid import HybridTinyKNN
from tmlcd_core.learners.nn_fc1 import NNFC1, BestOfGrid
from tmlcd_core.learners.registry import LEARNERS, PAPER, LearnerEntry, make_learner, register_learner, settings_of
from tmlcd_core.learners.river_learner import RiverLearner
from tmlcd_core.learners.sam_knn import SAMKNN
from tmlcd_core.learners.sklearn_learner import SklearnLearner
from tmlcd_core.learners.stream_learner import StreamLearner
from tmlcd_core.learners.support_vector_machine import SupportVectorMachine
from tmlcd_core.learners.tandem import Tandem
from tmlcd_core.learners.trace import Alarm, Trace

__all__ = [
    "LEARNERS",
    "NNFC1",
    "PAPER",
    "SAMKNN",
    "ActiveTinyKNN",
    "Alarm",
    "BestOfGrid",
    "ComparisonLearner",
    "CondensingInTime",
    "HybridTinyKNN",
    "IncrementalKNN",
    "LearnerEntry",
    "RiverLearner",
    "SklearnLearner",
    "StaticKNN",
    "StreamLearner",
    "SupportVectorMachine",
    "Tandem",
    "Trace",
    "make_learner",
    "register_learner",
    "settings_of",
]
