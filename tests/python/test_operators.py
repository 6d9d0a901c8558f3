"""Matrices as input: the handling of arrays, sparse matrices and operators."""

import pickle
import threading

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sla

import matapprox as ma


def memory_of_process():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * 4096


def assert_multiplies_like(operator, A, rng):
    m, n = A.shape
    x, y = rng.standard_normal(n), rng.standard_normal(m)
    X, Y = rng.standard_normal((n, 5)), rng.standard_normal((m, 5))
    close = {"rtol": 1e-12, "atol": 1e-12 * max(1.0, abs(A).max())}
    np.testing.assert_allclose(operator @ x, A @ x, **close)
    np.testing.assert_allclose(operator.matvec(x[:, None]), A @ x[:, None], **close)
    np.testing.assert_allclose(operator @ X, A @ X, **close)
    np.testing.assert_allclose(operator @ np.asfortranarray(X), A @ X, **close)
    np.testing.assert_allclose(operator @ X[:, ::-2], A @ X[:, ::-2], **close)
    np.testing.assert_allclose(operator.rmatvec(y), A.T @ y, **close)
    np.testing.assert_allclose(operator.rmatmat(Y), A.T @ Y, **close)
    np.testing.assert_allclose(operator.T @ Y, A.T @ Y, **close)
    np.testing.assert_allclose(operator.H @ y, A.T @ y, **close)
    np.testing.assert_allclose(operator.T.T @ x, A @ x, **close)
    np.testing.assert_allclose(operator @ (x + 2j * x), A @ (x + 2j * x), **close)
    np.testing.assert_allclose(operator @ x.astype(np.float32), A @ x.astype(np.float32), **close)
    np.testing.assert_allclose(operator.toarray(), A, **close)
    np.testing.assert_allclose(operator.columns([3, 0, 3, -1]), A[:, [3, 0, 3, -1]], **close)
    np.testing.assert_allclose(operator.rows([2, -2]), A[[2, -2]], **close)
    np.testing.assert_allclose(operator.diagonal(), np.diagonal(A), **close)
    assert isinstance(operator, sla.LinearOperator)
    assert operator.dtype == np.float64


@pytest.mark.parametrize("order", ["C", "F"])
def test_an_array_is_not_copied(order, rng):
    A = np.array(rng.standard_normal((40, 30)), order=order)
    operator = ma.aslinearoperator(A)
    A[3, 5] = 100  # before the first use
    assert operator.toarray()[3, 5] == 100
    assert_multiplies_like(operator, A, rng)


@pytest.mark.parametrize("order", ["C", "F"])
def test_wrapping_takes_no_memory(order):
    A = np.ones((4000, 2500), order=order)  # 80 MB
    before = memory_of_process()
    operator = ma.aslinearoperator(A)
    assert memory_of_process() - before < 1e6
    assert operator.shape == A.shape


@pytest.mark.parametrize("order", ["C", "F"])
def test_blocks_of_an_array_are_not_copied(order, rng):
    whole = np.array(rng.standard_normal((50, 40)), order=order)
    rows = whole[::3, 4:31] if order == "C" else whole[4:31, ::3]
    operator = ma.aslinearoperator(rows)
    whole[...] = rng.standard_normal(whole.shape)
    assert_multiplies_like(operator, rows, rng)


@pytest.mark.parametrize(
    "change",
    [
        lambda A: A[:, ::2],
        lambda A: A[::-1],
        lambda A: A[:, ::-1],
        lambda A: A.T[::2],
        lambda A: A.astype(np.float32),
        lambda A: (10 * A).astype(np.int16),
        lambda A: A > 0,
        lambda A: A.astype(">f8"),
        lambda A: np.broadcast_to(A[0], A.shape),
        lambda A: np.frombuffer(b"x" + A.tobytes(), np.uint8)[1:].view(np.float64).reshape(A.shape),
    ],
)
def test_other_arrays_are_converted(change, rng):
    A = change(rng.standard_normal((20, 24)))
    assert_multiplies_like(ma.aslinearoperator(A), A.astype(np.float64), rng)


def test_read_only_arrays_and_lists(rng):
    A = rng.standard_normal((20, 24))
    A.setflags(write=False)
    assert_multiplies_like(ma.aslinearoperator(A), A, rng)
    assert_multiplies_like(ma.aslinearoperator(A.tolist()), A, rng)


def test_an_operator_keeps_its_array(rng):
    A = rng.standard_normal((300, 200))
    operator = ma.aslinearoperator(A.copy())
    np.testing.assert_array_equal(operator.toarray(), A)


@pytest.mark.parametrize("shape", [(1, 7), (7, 1), (1, 1)])
def test_single_rows_and_columns(shape, rng):
    A = rng.standard_normal(shape)
    np.testing.assert_array_equal(ma.aslinearoperator(A).toarray(), A)
    np.testing.assert_array_equal(ma.aslinearoperator(A).T.toarray(), A.T)


def test_empty_arrays():
    operator = ma.aslinearoperator(np.empty((0, 3)))
    assert operator.matvec(np.ones(3)).shape == (0,)
    assert operator.toarray().shape == (0, 3)
    with pytest.raises(ma.InvalidArgument, match="0 x 3"):
        ma.truncated_svd(np.empty((0, 3)), 1)


@pytest.mark.parametrize(
    ("A", "message"),
    [
        (np.ones((2, 2)) * 1j, "entries of type complex128"),
        (np.array([[1, None]]), "entries of type object"),
        (np.array([["a", "b"]]), "entries of type"),
        (np.ones((2, 2, 2)), "3 dimensions"),
        (np.ones(2), "1 dimension;"),
        (np.float64(3), "0 dimensions"),
        (np.ma.masked_array(np.ones((2, 2))), "masked"),
        (sp.csr_array(np.ones((2, 2)) * 1j), "entries of type complex128"),
        ("text", "str is neither"),
        (None, "NoneType is neither"),
    ],
)
def test_what_is_no_matrix_is_refused(A, message):
    with pytest.raises(ma.InvalidArgument, match=message) as raised:
        ma.aslinearoperator(A)
    assert isinstance(raised.value, ValueError)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_nan_is_found_at_the_first_use(bad):
    A = np.ones((5, 4))
    A[3, 2] = bad
    operator = ma.aslinearoperator(A)
    for use in (lambda: operator @ np.ones(4), operator.toarray, lambda: ma.truncated_svd(A, 1)):
        with pytest.raises(ma.NumericalError, match=r"entry \(3, 2\)"):
            use()
    with pytest.raises(ma.NumericalError, match=r"entry \(3, 2\)"):
        ma.aslinearoperator(sp.csr_array(A))


def test_products_of_the_wrong_size():
    operator = ma.aslinearoperator(np.ones((5, 4)))
    for x in (np.ones(5), np.ones((5, 2)), np.ones((2, 2, 2))):
        with pytest.raises(ValueError, match=r"shape|dimension|rows|2-d"):
            operator @ x
    with pytest.raises(ma.InvalidArgument, match=r"outside 0\.\.3"):
        operator.columns([4])
    with pytest.raises(ma.InvalidArgument, match="sequence of integers"):
        operator.columns([0.5])


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dia", "bsr"])
def test_sparse(form, rng):
    A = sp.random(60, 45, 0.1, format=form, random_state=3)
    assert_multiplies_like(ma.aslinearoperator(A), A.toarray(), rng)
    assert_multiplies_like(ma.aslinearoperator(sp.coo_array(A)), A.toarray(), rng)


def test_sparse_with_duplicates_stays_as_it_is(rng):
    A = sp.csr_array((np.ones(4), np.array([3, 1, 1, 0]), np.array([0, 3, 4])), shape=(2, 4))
    indices = A.indices.copy()
    np.testing.assert_array_equal(ma.aslinearoperator(A).toarray(), [[0, 2, 0, 1], [1, 0, 0, 0]])
    np.testing.assert_array_equal(A.indices, indices)


def test_sparse_with_long_indices(rng):
    A = sp.random_array((30, 20), density=0.2, rng=rng).tocsr()
    A.indptr, A.indices = A.indptr.astype(np.int64), A.indices.astype(np.int64)
    np.testing.assert_array_equal(ma.aslinearoperator(A).toarray(), A.toarray())


class Products:
    """An object with only the attributes that the library requires."""

    def __init__(self, A):
        self.A = A
        self.shape = A.shape

    def __matmul__(self, X):
        return self.A @ X


class ProductsWithTranspose(Products):
    @property
    def T(self):
        return Products(self.A.T)


def test_operators_of_others(decaying, rng):
    for other in (sla.aslinearoperator(decaying), ProductsWithTranspose(decaying)):
        assert_multiplies_like(ma.aslinearoperator(other), decaying, rng)
        B = ma.truncated_svd(other, 20, algorithm="randomized")
        assert ma.measure(decaying, B).relative_error < 1e-3
        assert ma.aslinearoperator(B) is B


def test_an_operator_without_a_transpose(decaying):
    operator = ma.aslinearoperator(Products(decaying))
    np.testing.assert_allclose(operator @ np.ones(60), decaying @ np.ones(60))
    with pytest.raises(ma.InvalidArgument, match="Products has neither rmatmat nor T"):
        operator.rmatvec(np.ones(90))


def test_an_operator_that_returns_the_wrong_shape(decaying):
    class Wrong(ProductsWithTranspose):
        def __matmul__(self, X):
            return (self.A @ X)[:-1]

    with pytest.raises(ma.InvalidArgument, match=r"shape \(89, .*expected \(90,"):
        ma.truncated_svd(Wrong(decaying), 5)


def test_an_operator_that_returns_something_else(decaying):
    class Wrong(ProductsWithTranspose):
        def __matmul__(self, X):
            return (self.A @ X) * 1j

    with pytest.raises(ma.InvalidArgument, match="complex128"):
        ma.truncated_svd(Wrong(decaying), 5)


RECTANGULAR = ["truncated_svd", "cur", "jl_projection", "hierarchical", "exact"]


@pytest.mark.parametrize("method", RECTANGULAR)
def test_an_operator_that_returns_nan(method, decaying):
    class Wrong(ProductsWithTranspose):
        def __matmul__(self, X):
            Y = self.A @ X
            Y[3] = np.nan
            return Y

    with pytest.raises(ma.NumericalError, match="NaN or Inf"):
        getattr(ma, method)(Wrong(decaying))


def test_operators_of_python_in_several_threads(decaying):
    operator = ProductsWithTranspose(decaying)
    expected = ma.truncated_svd(operator, 5, algorithm="randomized").toarray()
    found = []

    def work():
        found.append(ma.truncated_svd(operator, 5, algorithm="randomized").toarray())

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(found) == 4
    for array in found:
        np.testing.assert_array_equal(array, expected)


@pytest.mark.parametrize("method", RECTANGULAR)
def test_what_an_operator_raises_comes_through(method, decaying):
    class Broken(ProductsWithTranspose):
        def __matmul__(self, X):
            raise LookupError("not today")

    with pytest.raises(LookupError, match="not today"):
        getattr(ma, method)(Broken(decaying))
    with pytest.raises(LookupError, match="not today"):
        ma.compare(Broken(decaying), [method])


def test_an_operator_with_a_bad_shape():
    class Bad:
        shape = (3, 4, 5)

        def __matmul__(self, X):
            return X

    with pytest.raises(ma.InvalidArgument, match="shape"):
        ma.aslinearoperator(Bad())


def test_kernel(rng):
    P = rng.standard_normal((50, 3))
    distance = np.linalg.norm(P[:, None] - P[None], axis=2)
    expected = np.exp(-(distance**2) / (2 * 1.3**2))
    assert_multiplies_like(ma.kernel(P, bandwidth=1.3), expected, rng)
    h = np.median(distance[np.triu_indices(50, 1)])
    expected = np.exp(-(distance**2) / (2 * h**2))
    assert_multiplies_like(ma.kernel(P), expected, rng)
    expected = (P @ P.T / 3 + 0.5) ** 2
    K = ma.kernel(P, "polynomial", degree=2, offset=0.5)
    assert_multiplies_like(K, expected, rng)
    with pytest.raises(
        ma.InvalidArgument, match=r"'gausian' is not one of .*did you mean 'gaussian'"
    ):
        ma.kernel(P, "gausian")
    with pytest.raises(ma.InvalidArgument, match="points has 1 dimension"):
        ma.kernel(P[0])


def test_covariance(rng):
    X = rng.standard_normal((70, 12)) * np.arange(1, 13)
    assert_multiplies_like(ma.covariance(X), np.cov(X, rowvar=False), rng)
    assert_multiplies_like(ma.covariance(X, correlation=True), np.corrcoef(X, rowvar=False), rng)
    with pytest.raises(ma.InvalidArgument, match="at least 2 rows"):
        ma.covariance(X[:1])


def test_load(tmp_path, rng):
    A = rng.standard_normal((30, 20))
    np.save(tmp_path / "a.npy", A)
    operator = ma.load(tmp_path / "a.npy")
    assert_multiplies_like(operator, A, rng)
    K = ma.load(tmp_path / "a.npy", kind="kernel", bandwidth=2.0)
    np.testing.assert_array_equal(K.toarray(), ma.kernel(A, bandwidth=2.0).toarray())
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(K)).toarray(), K.toarray())
    with pytest.raises(ma.FileError, match="missing"):
        ma.load(tmp_path / "missing.npy")
    with pytest.raises(OSError, match="missing"):
        ma.load(tmp_path / "missing.h5")
    with pytest.raises(ma.InvalidArgument, match="'kernal' is not one of"):
        ma.load(tmp_path / "a.npy", kind="kernal")
    with pytest.raises(TypeError, match="variabel"):
        ma.load(tmp_path / "a.npy", variabel="x")


def test_pickle(rng):
    P = rng.standard_normal((20, 3))
    sparse = sp.random(20, 15, 0.3, random_state=1)
    for operator in (
        ma.aslinearoperator(P),
        ma.aslinearoperator(P).T,
        ma.aslinearoperator(sparse),
        ma.kernel(P),
        ma.covariance(P),
    ):
        again = pickle.loads(pickle.dumps(operator))
        np.testing.assert_array_equal(again.toarray(), operator.toarray())


def test_sums_and_products_are_scipys(decaying, psd, rng):
    A = ma.aslinearoperator(decaying)
    x = rng.standard_normal(60)
    np.testing.assert_allclose(
        (2 * A.T @ A + sla.aslinearoperator(psd[:60, :60])) @ x,
        2 * decaying.T @ (decaying @ x) + psd[:60, :60] @ x,
    )


def test_cost_and_description(rng):
    A = ma.aslinearoperator(sp.random(50, 40, 0.1, random_state=1))
    assert A.cost.numbers == 200
    assert A.cost.multiplications_per_apply == 200
    assert A.description == "sparse, 200 stored entries"
    assert repr(A) == "<50 x 40 LinearOperator: sparse, 200 stored entries>"
