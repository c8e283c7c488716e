"""k-nearest-neighbour classifier: training set T, distances, votes and Hart's condensing."""

from tmlcd_core.knn.condensing import condense
from tmlcd_core.knn.distances import DistanceCache, distance_cache
from tmlcd_core.knn.tiny_knn import Neighbours, TinyKNN

__all__ = ["DistanceCache", "Neighbours", "TinyKNN", "condense", "distance_cache"]
