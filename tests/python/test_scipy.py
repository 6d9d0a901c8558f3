"""Our operators in SciPy's solvers; filterwarnings = error, so none of them warns."""

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sla

import matapprox as ma


@pytest.fixture
def laplacian():
    return sp.diags_array([-1.0, 2.05, -1.0], offsets=[-1, 0, 1], shape=(80, 80), format="csr")


@pytest.mark.parametrize("solver", ["arpack", "lobpcg", "propack"])
def test_svds(solver, decaying):
    expected = np.linalg.svd(decaying, compute_uv=False)[:4]
    for A in (ma.aslinearoperator(decaying), ma.truncated_svd(decaying, 12)):
        _, s, _ = sla.svds(A, k=4, solver=solver, rng=1)
        np.testing.assert_allclose(np.sort(s)[::-1], expected, rtol=1e-6)


def test_eigsh(psd):
    expected = np.linalg.eigvalsh(psd)[-3:]
    for A in (ma.aslinearoperator(psd), ma.nystrom(psd, 40)):
        np.testing.assert_allclose(
            sla.eigsh(A, k=3, return_eigenvectors=False), expected, rtol=1e-6
        )


@pytest.mark.parametrize("solver", [sla.cg, sla.minres, sla.gmres, sla.bicgstab])
def test_solvers(solver, laplacian, rng):
    b = rng.standard_normal(80)
    x, info = solver(ma.aslinearoperator(laplacian), b, rtol=1e-10)
    assert info == 0
    np.testing.assert_allclose(laplacian @ x, b, atol=1e-6)


def test_a_result_as_preconditioner(laplacian, rng):
    inverse = ma.truncated_svd(np.linalg.inv(laplacian.toarray()), 80)
    b = rng.standard_normal(80)
    steps = []
    x, info = sla.cg(laplacian, b, rtol=1e-10, M=inverse, callback=steps.append)
    assert info == 0
    assert len(steps) < 5
    np.testing.assert_allclose(laplacian @ x, b, atol=1e-6)


@pytest.mark.parametrize("solver", [sla.lsmr, sla.lsqr])
def test_least_squares(solver, rng):
    b = rng.standard_normal(90)
    A = rng.standard_normal((90, 12))
    x = solver(ma.aslinearoperator(A), b, atol=1e-12, btol=1e-12)[0]
    np.testing.assert_allclose(x, np.linalg.lstsq(A, b)[0], rtol=1e-6, atol=1e-6)


def test_algebra(decaying, psd, rng):
    A, P = ma.aslinearoperator(decaying), ma.aslinearoperator(psd)
    x = rng.standard_normal(64)
    np.testing.assert_allclose((P @ P + 3 * P) @ x, psd @ (psd @ x) + 3 * psd @ x)
    np.testing.assert_allclose((P**2) @ x, psd @ (psd @ x))
    np.testing.assert_allclose(
        (A.T @ A - 2 * (A.T @ A)) @ x[:60], -decaying.T @ (decaying @ x[:60])
    )
