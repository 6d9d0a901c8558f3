"""Arguments that are refused, each with a message that names it."""

import datetime
import errno
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sla

import matapprox as ma
from matapprox.sklearn import RandomProjection, TruncatedSVD


def rows_of(starts, columns, shape=(2, 2), kind=sp.csr_array):
    """A SciPy matrix with this structure, which may change after its constructor has checked it."""
    A = kind(shape)
    A.data, A.indices, A.indptr = np.ones(len(columns)), np.array(columns), np.array(starts)
    return A


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_array, sp.csr_matrix])
@pytest.mark.parametrize("canonical", [None, True])
@pytest.mark.parametrize(
    ("starts", "columns", "message"),
    [
        ([0, 1, 2], [0, 5], r"index 5, which is outside 0\.\.1"),
        ([0, 1, 2], [0, -1], r"index -1, which is outside 0\.\.1"),
        ([0, 1, 2], [0, 10**9], "index 1000000000"),
        ([0, 3, 2], [0, 1], "indptr that goes from 0 to 3 at 0"),
        ([0, -5, 2], [0, 1], "indptr that goes from 0 to -5"),
        ([0, 1, 99], [0, 1], "indptr that ends with 99, after 2 indices"),
        ([1, 1, 2], [0, 1], "indptr that starts with 1"),
        ([0, 2], [0, 1], "2 entries in indptr; 3 are needed"),
    ],
)
def test_a_sparse_matrix_with_a_bad_structure(kind, canonical, starts, columns, message):
    A = rows_of(starts, columns, kind=kind)
    if canonical is not None:
        A.has_canonical_format = canonical
        A.has_sorted_indices = canonical
    with pytest.raises(ma.InvalidArgument, match=message):
        ma.aslinearoperator(A)


def test_scipys_constructor_does_not_look_at_indices():
    A = sp.csr_array((np.ones(2), [0, 5], [0, 1, 2]), shape=(2, 2))
    with pytest.raises(ma.InvalidArgument, match="index 5"):
        ma.truncated_svd(A, 1)
    B = sp.coo_array(np.eye(3))
    B.coords = (np.array([0, 1, 7]), np.array([0, 1, 2]))
    with pytest.raises(ma.InvalidArgument, match=r"0\.\.7, which are not all in 0\.\.2"):
        ma.aslinearoperator(B)
    blocks = sp.bsr_array(np.eye(4), blocksize=(2, 2))
    blocks.indices[1] = 40
    with pytest.raises(ma.InvalidArgument, match="index 40"):
        ma.aslinearoperator(blocks)


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_unsorted_rows_with_stale_flags_are_sorted(kind):
    A = rows_of(np.array([0, 3, 4], kind), np.array([3, 1, 1, 0], kind), (2, 4))
    A.has_canonical_format = True
    np.testing.assert_array_equal(ma.aslinearoperator(A).toarray(), [[0, 2, 0, 1], [1, 0, 0, 0]])
    A.indices = A.indices.astype(np.int64)
    np.testing.assert_array_equal(ma.aslinearoperator(A).toarray(), [[0, 2, 0, 1], [1, 0, 0, 0]])


@pytest.mark.parametrize("state", [np.random.RandomState, None])
def test_a_pickled_projection_is_the_same(state, decaying):
    projection = RandomProjection(7, random_state=state and state(3)).fit(decaying)
    again = pickle.loads(pickle.dumps(projection))
    np.testing.assert_array_equal(again.operator_.toarray(), projection.components_)


SIZES = [
    ("truncated_svd", {"rank": 3, "target_error": 0.1}, "rank and target_error"),
    ("truncated_svd", {"rank": 3, "budget": "10%"}, "rank and budget"),
    (
        "truncated_svd",
        {"frobenius_tolerance": 0.3, "target_error": 0.1},
        "tolerance and target_error",
    ),
    ("cur", {"rank": 3, "budget": "10%"}, "rank and budget"),
    ("cur", {"budget": "20%", "target_error": 0.1}, "budget and target_error"),
    ("nystrom", {"budget": "20%", "target_error": 0.1}, "budget and target_error"),
    ("nystrom", {"landmarks": [1], "budget": "20%"}, "landmarks and budget"),
    ("nystrom", {"landmarks": [1], "target_error": 0.2}, "landmarks and target_error"),
    ("jl_projection", {"budget": "20%", "target_error": 0.1}, "budget and target_error"),
    ("chord", {"budget": "20%", "target_error": 0.1}, "budget and target_error"),
]


@pytest.mark.parametrize(("method", "options", "message"), SIZES)
def test_contradictory_sizes(method, options, message, psd):
    with pytest.raises(ma.InvalidArgument, match=f"{method}: give one of .*{message}, not both"):
        getattr(ma, method)(psd, **options)


def test_methods_that_take_budget_and_error(decaying):
    for method in (ma.truncated_svd, ma.hierarchical, ma.best):
        B = method(decaying, budget="20%", target_error=0.3)
        assert B.storage.nbytes <= 0.2 * 8 * decaying.size


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda A: ma.nystrom(A, landmarks=[]), "landmarks is empty; None is the default"),
        (lambda A: ma.truncated_svd(A, 0), "rank 0; None, the default"),
        (lambda A: ma.truncated_svd(A, budget=""), "budget = '' is neither an int nor a str"),
        (lambda A: ma.truncated_svd(A, budget=[3]), "budget = .3. is neither"),
        (lambda A: ma.kernel(A, bandwidth=0), "bandwidth 0 is not positive"),
        (lambda A: ma.kernel(A, bandwidth=np.nan), "bandwidth is NaN"),
        (lambda A: ma.best(A, methods=[]), r"methods = \[\] is not a sequence of str"),
        (lambda A: ma.best(A, methods=""), "methods"),
        (lambda A: ma.best(A, methods=[1]), r"best: methods = \[1\] is not a sequence of str"),
        (lambda A: ma.best(A, methods=5), "best: methods = 5 is not a sequence of str"),
        (lambda A: ma.best(A, target_error=0), "target_error 0"),
        (lambda A: ma.compare(A, []), "methods"),
        (lambda A: ma.compare(A, budget=""), "compare: budget = ''"),
        (lambda A: ma.compare(A, rank=0), r"compare: rank 0 is outside 1\.\."),
        (lambda A: ma.compare(A, rank=2.7), r"compare: rank = 2\.7 is not an int"),
        (lambda A: ma.compare(A, seed=-1), r"compare: seed -1 is outside 0\.\."),
        (lambda A: ma.truncated_svd(A, precision=8), "precision = 8 is not one of double, float"),
        (lambda A: ma.truncated_svd(A, algorithm=3), "algorithm = 3 is not one of auto"),
        (lambda A: ma.truncated_svd(A, tolerance="1e-3"), "tolerance = '1e-3' is not a float"),
        (lambda A: ma.chord(A, symmetrize=np.ones(3)), "is not a bool"),
        (lambda A: ma.chord(A, checkpoint="b.h5", resume="no"), "resume = 'no' is not a bool"),
        (lambda A: ma.chord(A, checkpoint=""), "checkpoint is empty; None is the default"),
        (lambda A: ma.chord(A, offsets=[1]), r"offsets = \[1\] is not a str"),
        (lambda A: ma.measure(A, A, seed=-1), r"measure: seed -1 is outside 0\.\."),
        (lambda A: ma.measure(A, A, effort=3), "measure: effort = 3 is not one of quick, full"),
        (lambda A: ma.measure(A, A, confidence="x"), "confidence = 'x' is not a float"),
        (lambda A: ma.kernel(A, "polynomial", degree=2.5), r"degree = 2\.5 is not an int"),
        (lambda A: ma.kernel(A, None), "kernel: function = None is not one of gaussian"),
        (lambda A: ma.set_threads(1.5), r"set_threads: count = 1\.5 is not an int"),
        (lambda A: ma.truncated_svd(A, max_seconds="5"), "max_seconds = '5' is not a float"),
        (lambda A: ma.truncated_svd(A, max_seconds=np.nan), "max_seconds is NaN"),
        (lambda A: ma.truncated_svd(A, target_error="1"), "target_error = '1' is not a float"),
    ],
)
def test_wrong_types_and_empty_values(call, message, psd):
    with pytest.raises(ma.InvalidArgument, match=message):
        call(psd)


def test_unknown_arguments_name_the_function_and_a_near_one(psd):
    with pytest.raises(TypeError, match=r"nystrom\(\) .*'landmark'; did you mean 'landmarks'"):
        ma.nystrom(psd, landmark=[1])
    with pytest.raises(TypeError, match=r"best\(\) has no argument 'xyz'$"):
        ma.best(psd, xyz=1)
    with pytest.raises(TypeError, match=r"load\(\).*missing.*path"):
        ma.load()


def test_compare_takes_names_as_best_does(psd):
    assert [row["method"] for row in ma.compare(psd, "truncated_svd")][1:] == ["truncated_svd"]
    assert len(ma.compare(psd, "truncated_svd,cur")) == 3


def test_defaults_given_explicitly_change_nothing(psd, tmp_path):
    ma.truncated_svd(psd, 3).save(tmp_path / "b.H5")
    again = ma.load(tmp_path / "b.H5", kind="matrix", bandwidth=0.0, variable=None, degree=3)
    assert isinstance(again, ma.Approximation)


def test_names_of_files(psd, tmp_path):
    B = ma.truncated_svd(psd, 3)
    with pytest.raises(ma.InvalidArgument, match=r"does not end in \.h5"):
        B.save(tmp_path / "b.dat")
    with pytest.raises(ma.InvalidArgument, match="NUL"):
        B.save("b\0.h5")
    with pytest.raises(ma.InvalidArgument, match="NUL"):
        ma.load("b\0.npy")
    for name in ("missing.h5", "missing.npy"):
        with pytest.raises(FileNotFoundError) as raised:
            ma.load(tmp_path / name)
        assert isinstance(raised.value, ma.FileError)
        assert raised.value.errno == errno.ENOENT
        assert raised.value.filename == str(tmp_path / name)


MASKED = np.ma.masked_array(np.ones((4, 4)), mask=np.eye(4))


class ReturnsMasked:
    shape = (4, 4)

    def matmat(self, X):
        return MASKED @ X


@pytest.mark.parametrize(
    "call",
    [
        lambda: ma.aslinearoperator(MASKED),
        lambda: ma.aslinearoperator(list(MASKED)),
        lambda: ma.kernel(MASKED),
        lambda: ma.covariance(MASKED),
        lambda: ma.measure(np.eye(4), MASKED),
        lambda: ma.aslinearoperator(np.eye(4)) @ MASKED,
        lambda: ma.aslinearoperator(np.eye(4)) @ MASKED[0],
        lambda: ma.aslinearoperator(np.eye(4)).dot(MASKED),
        lambda: ma.aslinearoperator(np.eye(4)).matmat(MASKED),
        lambda: ma.aslinearoperator(np.eye(4)).matvec(MASKED[0]),
        lambda: ma.aslinearoperator(np.eye(4)).rmatvec(MASKED[0]),
        lambda: ma.aslinearoperator(np.eye(4)).columns(np.ma.masked_array([1, 2], [0, 1])),
        lambda: ma.aslinearoperator(ReturnsMasked()) @ np.ones(4),
        lambda: TruncatedSVD(1).fit(MASKED),
    ],
)
def test_masked_arrays_are_refused(call):
    with pytest.raises(ma.InvalidArgument, match="masked array"):
        call()


def field(A):
    """The same numbers 12 bytes apart: a field of a structured array."""
    packed = np.zeros(A.shape, np.dtype([("x", np.float64), ("k", np.int32)]))
    packed["x"] = A
    assert packed["x"].strides[-1] == 12
    return packed["x"]


def test_strides_that_are_not_whole_numbers(rng):
    A, X = rng.standard_normal((20, 10)), rng.standard_normal((10, 3))

    class Returns:
        shape = A.shape

        def matmat(self, X):
            return field(A @ X)

    operator = ma.aslinearoperator(A)
    np.testing.assert_allclose(operator @ field(X), A @ X)
    np.testing.assert_allclose(operator @ field(X[:, 0]), A @ X[:, 0])
    np.testing.assert_allclose(operator.rmatvec(field(A[:, 0])), A.T @ A[:, 0])
    np.testing.assert_array_equal(ma.aslinearoperator(field(A)).toarray(), A)
    np.testing.assert_allclose(ma.aslinearoperator(Returns()) @ X, A @ X)
    np.testing.assert_array_equal(ma.kernel(field(A)).toarray(), ma.kernel(A).toarray())
    np.testing.assert_array_equal(ma.covariance(field(A)).toarray(), ma.covariance(A).toarray())


@pytest.mark.parametrize(
    "shape",
    [(3, -1), (2.5, 3), ("3", 4), (2**40, 2**40), (3,), None, (datetime.date.min, 1)],
)
def test_shapes_of_operators(shape):
    class Bad:
        def matmat(self, X):
            return X

    Bad.shape = shape
    with pytest.raises(ma.InvalidArgument, match=r"shape .* of Bad is not that of a matrix"):
        ma.aslinearoperator(Bad())


def test_an_operator_of_scipy_without_a_transpose(decaying):
    operator = sla.LinearOperator((90, 60), matvec=lambda x: decaying @ x)
    np.testing.assert_allclose(ma.aslinearoperator(operator) @ np.ones(60), decaying @ np.ones(60))
    with pytest.raises(ma.InvalidArgument, match="no product with its transpose"):
        ma.truncated_svd(operator, 3, algorithm="randomized")


def test_a_measurement_is_a_table_and_survives_pickle(decaying):
    B = ma.best(decaying, target_error=0.05)
    again = pickle.loads(pickle.dumps(B)).measurement
    assert repr(again) == repr(B.measurement)
    found = ma.measure(decaying, B, confidence=0.9)
    again = pickle.loads(pickle.dumps(found))
    for name in dir(found):
        if not name.startswith("_") and name != "certificate":
            assert getattr(again, name) == getattr(found, name), name
            assert getattr(type(found), name).__doc__
    for name in ("products", "passes", "relative"):
        assert getattr(again.certificate, name) == getattr(found.certificate, name)
    assert again.certificate.frobenius.value == found.certificate.frobenius.value
    assert f"relative error        {found.relative_error:.4g}" in repr(found)
    assert "<td" in found._repr_html_()
    assert type(found).__module__ == "matapprox"


def test_choices_are_quoted_in_docstrings():
    assert '"psd": C W^+ C^T; "generalized": two sketches' in ma.nystrom.__doc__
    assert 'are fitted: "natural"; "shift": the last' in ma.chord.__doc__
    assert 'pivoted_cholesky", "uniform"' in ma.nystrom.__doc__
    assert 'default="pivoted_cholesky"' in ma.nystrom.__doc__
