"""scikit-learn's estimators exported by skl2onnx: mostly ai.onnx.ml nodes, which run on the host."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tools.zoo_of_models.entry import Arrays, onnx_model

NEEDS = ("sklearn", "skl2onnx")
OPSET = 15


def scikit(name: str, **options: Any) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    """Register a function that returns an estimator whose samples have 8 features."""

    def note(function: Callable[[], Any]) -> Callable[[], Any]:
        def make(path: Path) -> Arrays:
            from skl2onnx import to_onnx

            generator = np.random.default_rng(0)
            rows = generator.standard_normal((150, 8)).astype(np.float32)
            labels = (rows[:, 0] * rows[:, 1] + rows[:, 2] > 0).astype(int) + (rows[:, 3] > 0.8)
            estimator = function().fit(rows, labels)
            chosen = {id(estimator): options} if options else None
            path.write_bytes(to_onnx(estimator, rows[:1], target_opset=OPSET, options=chosen).SerializeToString())
            return {"X": rows[:20] + np.float32(0.01)}

        onnx_model(name, OPSET, "skl2onnx", needs=NEEDS)(make)
        return function

    return note


@scikit("scaled logistic regression", zipmap=False)
def logistic() -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), LogisticRegression())


@scikit("random forest with named probabilities")
def forest() -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(10, max_depth=5, random_state=0)


@scikit("gradient boosting of trees")
def boosting() -> Any:
    from sklearn.ensemble import GradientBoostingRegressor

    return GradientBoostingRegressor(n_estimators=10, random_state=0)


@scikit("multi-layer perceptron", zipmap=False)
def perceptron() -> Any:
    from sklearn.neural_network import MLPClassifier

    return MLPClassifier((16,), max_iter=50, random_state=0)


@scikit("support vector machine", zipmap=False)
def machine() -> Any:
    from sklearn.svm import SVC

    return SVC(probability=False)


@scikit("principal components and k-means")
def clusters() -> Any:
    from sklearn.cluster import KMeans
    from sklearn.decomposition import PCA
    from sklearn.pipeline import make_pipeline

    return make_pipeline(PCA(4), KMeans(5, n_init=1, random_state=0))


@scikit("nearest neighbours")
def neighbours() -> Any:
    from sklearn.neighbors import KNeighborsRegressor

    return KNeighborsRegressor(3)


@scikit("gaussian process")
def process() -> Any:
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF

    return GaussianProcessRegressor(RBF(2.0), alpha=1.0, optimizer=None)
