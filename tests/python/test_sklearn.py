"""Estimators, compared with scikit-learn's own and tested by its check_estimator."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.decomposition import TruncatedSVD as TheirSVD
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

import matapprox as ma
from matapprox.sklearn import CUR, Nystroem, RandomProjection, TruncatedSVD

ESTIMATORS = [
    TruncatedSVD(n_components=1),
    Nystroem(n_components=1),
    Nystroem(n_components=1, sampling="uniform"),
    RandomProjection(n_components=2),
    RandomProjection(n_components=2, kind="sparse"),
    CUR(n_components=1),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_check_estimator(estimator):
    with warnings.catch_warnings():
        # Warnings of the checks, not of the estimators.
        warnings.simplefilter("ignore")
        for _, check in estimator_checks_generator(estimator, mark="skip"):
            name = getattr(check, "func", check).__name__
            try:
                check(estimator)
            except BaseException as failure:
                if type(failure).__name__ == "SkipTest":
                    continue
                raise AssertionError(f"{name}: {failure}") from failure


@pytest.mark.parametrize("algorithm", ["randomized", "krylov", "arpack", "dense", "auto"])
@pytest.mark.parametrize("sparse", [False, True])
def test_truncated_svd_is_theirs(algorithm, sparse, decaying):
    X = sp.csr_array(decaying) if sparse else decaying
    ours = TruncatedSVD(8, algorithm=algorithm, random_state=3).fit(X)
    theirs = TheirSVD(8, algorithm="arpack").fit(decaying)
    np.testing.assert_allclose(ours.singular_values_, theirs.singular_values_, rtol=1e-6)
    np.testing.assert_allclose(ours.components_, theirs.components_, atol=1e-5)
    ratio = ours.explained_variance_ratio_
    np.testing.assert_allclose(ratio, theirs.explained_variance_ratio_, rtol=1e-5)
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X), atol=1e-5)
    error = ours.approximation_.toarray() - theirs.inverse_transform(theirs.transform(decaying))
    np.testing.assert_allclose(error, 0, atol=1e-5)


@pytest.mark.parametrize("metric", ["rbf", "laplacian", "linear", "cosine", "poly"])
@pytest.mark.parametrize("sampling", ["pivoted_cholesky", "uniform"])
def test_nystroem_with_all_landmarks_is_the_kernel(metric, sampling, rng):
    X = rng.standard_normal((40, 5))
    gamma = {"gamma": 0.3} if metric in ("rbf", "laplacian", "poly") else {}
    features = Nystroem(metric, n_components=40, sampling=sampling, **gamma).fit_transform(X)
    expected = pairwise_kernels(X, metric=metric, **gamma)
    np.testing.assert_allclose(features @ features.T, expected, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize(("metric", "gamma"), [("rbf", 0.3), ("rbf", None), ("laplacian", 0.05)])
def test_landmarks_are_those_of_the_kernel_matrix(metric, gamma, rng):
    X = rng.standard_normal((60, 4)) * [1, 2, 3, 4]
    map_ = Nystroem(metric, gamma=gamma, n_components=12, random_state=0).fit(X)
    seed = np.random.RandomState(0).randint(np.iinfo(np.int32).max)
    given = {} if gamma is None else {"gamma": gamma}
    B = ma.nystrom(pairwise_kernels(X, metric=metric, **given), 12, seed=int(seed))
    np.testing.assert_array_equal(map_.component_indices_, B.summary["chosen_columns"])


@pytest.mark.parametrize("sampling", ["auto", "pivoted_cholesky"])
def test_nystroem_of_a_precomputed_kernel(sampling, rng):
    X = rng.standard_normal((40, 5))
    K = pairwise_kernels(X, metric="rbf", gamma=0.1)
    map_ = Nystroem("precomputed", n_components=30, sampling=sampling, random_state=0).fit(K)
    J = map_.component_indices_
    Z = map_.transform(K)
    np.testing.assert_allclose(Z @ Z.T, K[:, J] @ np.linalg.solve(K[np.ix_(J, J)], K[J]), atol=1e-6)


def test_landmarks_by_pivoted_cholesky_are_better(rng):
    X = np.vstack([rng.standard_normal((190, 3)) * 0.05, 5 * rng.standard_normal((10, 3))])
    K = pairwise_kernels(X, metric="rbf", gamma=0.5)
    errors = {}
    for sampling in ("pivoted_cholesky", "uniform"):
        map_ = Nystroem(gamma=0.5, n_components=15, sampling=sampling, random_state=0).fit(X)
        Z = map_.transform(X)
        errors[sampling] = np.linalg.norm(K - Z @ Z.T)
        np.testing.assert_array_equal(map_.components_, X[map_.component_indices_])
    assert errors["pivoted_cholesky"] < errors["uniform"] / 5


@pytest.mark.parametrize("kind", ["gaussian", "rademacher", "sparse", "srht"])
def test_random_projection_keeps_lengths(kind, rng):
    X = rng.standard_normal((20, 3000))
    projection = RandomProjection(1500, kind=kind, random_state=1).fit(X)
    lengths = np.linalg.norm(projection.transform(X), axis=1) / np.linalg.norm(X, axis=1)
    np.testing.assert_allclose(lengths, 1, atol=0.1)
    R = projection.components_
    product = projection.operator_ @ X[0]
    np.testing.assert_allclose(R @ X[0], product, rtol=1e-10, atol=1e-10)
    again = pickle.loads(pickle.dumps(projection))
    np.testing.assert_array_equal(again.operator_ @ X[0], product)


def test_cur_holds_actual_rows(decaying):
    cur = CUR(12, random_state=0).fit(decaying)
    np.testing.assert_array_equal(cur.components_, decaying[cur.row_indices_])
    C = cur.approximation_.factors[0].values
    np.testing.assert_array_equal(C, decaying[:, cur.column_indices_])
    back = cur.inverse_transform(cur.transform(decaying))
    best = np.linalg.norm(np.linalg.svd(decaying, compute_uv=False)[12:])
    assert np.linalg.norm(decaying - back) < 10 * best
    sparse = CUR(12, random_state=0).fit(sp.csr_array(decaying))
    assert sp.issparse(sparse.components_)
    np.testing.assert_array_equal(np.sort(sparse.row_indices_), np.sort(cur.row_indices_))


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_in_a_pipeline(estimator, decaying):
    pipeline = make_pipeline(StandardScaler(), clone(estimator))
    Z = pipeline.fit_transform(decaying)
    assert Z.shape == (90, len(pipeline.get_feature_names_out()))
    again = pickle.loads(pickle.dumps(pipeline))
    np.testing.assert_array_equal(again.transform(decaying), pipeline.transform(decaying))
