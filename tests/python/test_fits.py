"""Methods: arguments, results, and interruption."""

import inspect
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from xml.etree import ElementTree

import numpy as np
import pytest
import scipy.sparse as sp

import matapprox as ma
from matapprox import _comparison, _fits

METHODS = list(_fits.METHODS)
QUICK_CHORD = {"adam_steps": 10, "max_iterations": 5, "newton_steps": 0, "starts": 1}


def quick(method, A, **options):
    extra = QUICK_CHORD if method == "chord" else {}
    return getattr(ma, method)(A, **extra, **options)


def product_of(approximation):
    P = np.eye(approximation.shape[0])
    for factor in approximation.factors:
        values = factor.values
        P = (
            P @ (np.diag(values) if getattr(values, "ndim", 2) == 1 else values)
            if not isinstance(values, ma.LinearOperator)
            else (values.T @ P.T).T
        )
    return (P + P.T) / 2 if approximation.symmetrized else P


def test_the_methods_are_those_of_the_library():
    expected = {
        "truncated_svd",
        "nystrom",
        "cur",
        "jl_projection",
        "chord",
        "hierarchical",
        "exact",
    }
    assert expected <= set(METHODS)
    assert set(METHODS) <= set(ma.__all__)


@pytest.mark.parametrize("method", METHODS)
def test_signature_and_docstring_come_from_the_options(method):
    function = getattr(ma, method)
    parameters = inspect.signature(function).parameters
    for name, *_ in _fits.METHODS[method][1]:
        assert name in parameters
        assert f"\n{name} : " in function.__doc__
    assert next(iter(parameters)) == "A"
    assert function.__module__ == "matapprox"
    assert parameters["max_seconds"].default is None


@pytest.mark.parametrize("method", METHODS)
def test_a_result_is_its_factors(method, psd, rng):
    B = quick(method, psd)
    assert isinstance(B, ma.Approximation)
    np.testing.assert_allclose(product_of(B), B.toarray(), atol=1e-12 * np.linalg.norm(psd))
    x = rng.standard_normal(64)
    np.testing.assert_allclose(B @ x, B.toarray() @ x, atol=1e-10)
    np.testing.assert_allclose(B.rmatvec(x), B.toarray().T @ x, atol=1e-10)
    assert B.summary["method"] == method
    assert B.storage.numbers > 0
    assert B.seconds > 0
    assert method in repr(B)
    assert method in B._repr_html_()


@pytest.mark.parametrize("method", METHODS)
def test_saved_and_pickled_results_are_exact(method, psd, tmp_path):
    B = quick(method, psd)
    B.save(tmp_path / "b.h5")
    for again in (ma.load(tmp_path / "b.h5"), pickle.loads(pickle.dumps(B))):
        assert isinstance(again, ma.Approximation)
        np.testing.assert_array_equal(again.toarray(), B.toarray())
        assert again.summary["options"] == B.summary["options"]
        assert again.storage == B.storage
    with pytest.raises(ma.FileError):
        B.save(tmp_path / "no" / "such" / "folder" / "b.h5")


@pytest.mark.parametrize("method", METHODS)
def test_exported_factors_multiply_to_the_result(method, psd, tmp_path):
    B = quick(method, psd)
    assert B.export(tmp_path / "b.npz") == [str(tmp_path / "b.npz")]
    files = B.export(tmp_path / "b.mtx")
    product = np.eye(psd.shape[0])
    for file in files:
        product = product @ np.asarray(ma.load(file).toarray())
    np.testing.assert_allclose(product, B.toarray(), rtol=0, atol=1e-12 * np.abs(psd).max())
    with pytest.raises(ma.InvalidArgument, match="cannot export"):
        B.export(tmp_path / "b.txt")


@pytest.mark.parametrize("method", METHODS)
def test_to_faust(method, psd):
    pyfaust = pytest.importorskip("pyfaust", reason="pyfaust is not in requirements.txt")
    B = quick(method, psd)
    F = B.to_faust()
    assert isinstance(F, pyfaust.Faust)
    np.testing.assert_allclose(F.toarray(), B.toarray(), rtol=0, atol=1e-12 * np.abs(psd).max())
    if method == "chord":
        assert F.numfactors() > 1
        assert F.nnz_sum() == B.storage.numbers


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("order", ["C", "F"])
def test_same_bits_as_the_program(method, order, psd, tmp_path, program):
    A = np.array(psd, order=order)
    np.save(tmp_path / "a.npy", A)
    flags = [f"--{name.replace('_', '-')}={value}" for name, value in QUICK_CHORD.items()]
    chord = flags if method == "chord" else []
    program(
        "approximate",
        tmp_path / "a.npy",
        method,
        "-o",
        tmp_path / "b.h5",
        "--seed",
        5,
        "--quiet",
        *chord,
    )
    theirs = ma.load(tmp_path / "b.h5")
    seed = {} if method in ("exact", "wavelet") else {"seed": 5}
    ours = quick(method, A, **seed)
    np.testing.assert_array_equal(ours.toarray(), theirs.toarray())
    for mine, their in zip(ours.factors, theirs.factors, strict=True):
        if isinstance(mine.values, np.ndarray):
            np.testing.assert_array_equal(mine.values, their.values)


def test_truncated_svd_is_the_best_of_its_rank(decaying):
    values = np.linalg.svd(decaying, compute_uv=False)
    for algorithm in ("dense", "krylov", "auto"):
        B = ma.truncated_svd(decaying, 10, algorithm=algorithm)
        assert B.rank == 10
        U, s, Vt = (factor.values for factor in B.factors)
        np.testing.assert_allclose(s, values[:10], rtol=1e-10)
        np.testing.assert_allclose(U.T @ U, np.eye(10), atol=1e-10)
        error = np.linalg.norm(decaying - U * s @ Vt)
        np.testing.assert_allclose(error, np.linalg.norm(values[10:]), rtol=1e-6)
        measured = ma.measure(decaying, B)
        assert measured.error_is_exact
        np.testing.assert_allclose(measured.error_frobenius, error, rtol=1e-8)


def test_factors_only_read(decaying):
    U = ma.truncated_svd(decaying, 3).factors[0].values
    with pytest.raises(ValueError, match="read-only"):
        U[0, 0] = 1


def test_factors_outlive_their_approximation(decaying):
    B = ma.truncated_svd(decaying, 3)
    expected = B.toarray()
    U, s, Vt = (factor.values for factor in B.factors)
    del B
    np.testing.assert_allclose(U * s @ Vt, expected)


def test_sparse_factors_are_scipys():
    A = sp.random(80, 50, 0.05, random_state=3)
    B = ma.cur(A, 10)
    C, U, R = (factor.values for factor in B.factors)
    assert sp.issparse(C)
    assert sp.issparse(R)
    np.testing.assert_allclose(C @ U @ R, B.toarray(), atol=1e-12)


def test_landmarks_of_ones_own(psd):
    B = ma.nystrom(psd, landmarks=[1, 5, 9])
    C = psd[:, [1, 5, 9]]
    np.testing.assert_allclose(B.toarray(), C @ np.linalg.solve(C[[1, 5, 9]], C.T), atol=1e-8)
    np.testing.assert_array_equal(
        ma.nystrom(psd, landmarks=np.array([1, 5, 9])).toarray(), B.toarray()
    )


def test_budgets(decaying):
    assert ma.truncated_svd(decaying, budget=1000).storage.numbers <= 1000
    assert ma.truncated_svd(decaying, budget="10%").storage.numbers <= 540
    assert ma.truncated_svd(decaying, budget="4kB").storage.nbytes <= 4000
    with pytest.raises(ma.BudgetTooSmall) as raised:
        ma.truncated_svd(decaying, budget=3)
    assert pickle.loads(pickle.dumps(raised.value)).least_bytes == raised.value.least_bytes > 24
    assert ma.hierarchical(decaying, target_error=0.1).storage.nbytes < 8 * decaying.size
    B = ma.truncated_svd(decaying, 20, precision="float16")
    assert B.storage.precision == "float16"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rank": 61}, r"rank 61 is outside 1\.\.60"),
        ({"rank": 2.5}, "rank = 2.5 is not an int"),
        ({"rank": "3"}, "rank = '3' is not an int"),
        ({"seed": -1}, "seed"),
        ({"algorithm": "fast"}, "'fast' is not one of"),
        ({"tolerance": "small"}, "is not a float"),
        ({"symmetric_storage": "perhaps"}, "is not a bool"),
        ({"budget": "much"}, "much"),
        ({"precision": "half"}, "'half' is not one of double, float"),
        ({"target_error": 2}, r"outside 0\.\.1"),
        ({"max_seconds": -1}, "negative"),
        ({"algorithm": "spectra", "rank": 3}, "SPECTRA"),
    ],
)
def test_refusals(options, message, decaying):
    with pytest.raises(ma.Error, match=message):
        ma.truncated_svd(decaying, **options)


def test_unknown_options_are_type_errors(decaying):
    with pytest.raises(TypeError, match="rnk"):
        ma.truncated_svd(decaying, rnk=3)
    with pytest.raises(TypeError):
        ma.truncated_svd(decaying, 3, 1000)
    with pytest.raises(TypeError):
        ma.truncated_svd()
    with pytest.raises(TypeError, match="progress"):
        ma.truncated_svd(decaying, progress=3)


def test_best(decaying):
    B = ma.best(decaying, target_error=0.05)
    assert B.measurement.relative_error <= 0.05
    assert sum(candidate["chosen"] for candidate in B.candidates) == 1
    assert ma.best(decaying, "20%").storage.nbytes <= 0.2 * 8 * decaying.size
    assert ma.best(decaying, methods=["truncated_svd", "exact"]).summary["method"] in METHODS
    with pytest.raises(ma.InvalidArgument):
        ma.best(decaying, methods=["magic"])


def test_measure(decaying):
    B = ma.truncated_svd(decaying, 10)
    found = ma.measure(decaying, B, confidence=0.99)
    assert found.certificate.frobenius.value >= found.error_frobenius * (1 - 1e-12)
    assert found.error_basis == "exact"
    zero = ma.measure(decaying, 0 * decaying)
    np.testing.assert_allclose(zero.relative_error, 1)
    with pytest.raises(ma.InvalidArgument, match="is 90 x 60, the approximation 60 x 90"):
        ma.measure(decaying, B.T)
    with pytest.raises(ma.InvalidArgument, match="effort 'little' is not one of"):
        ma.measure(decaying, B, effort="little")


def test_compare(decaying):
    table = ma.compare(decaying, ["truncated_svd", "cur", "nystrom"], budget="20%")
    assert [row["method"] for row in table] == ["as_is", "truncated_svd", "cur", "nystrom"]
    expected = ma.measure(decaying, ma.truncated_svd(decaying, budget="20%")).relative_error
    assert table["truncated_svd"]["relative_error"] == pytest.approx(expected)
    assert "must be square" in table["nystrom"]["status"]
    assert "20 %" in table.basis
    assert "truncated_svd" in str(table)
    assert "<td>cur</td>" in table._repr_html_()
    with pytest.raises(ma.InvalidArgument, match="truncated_svd"):
        ma.compare(decaying, ["truncated_sdv"])
    with pytest.raises(KeyError):
        table["chord"]


def test_a_comparison_draws_its_errors():
    methods = ["exact", "a<b", "cur", "failed", "far"]
    errors = [0.0, 1e-3, 2e-2, None, 1e400]
    rows = [
        {**dict.fromkeys(_comparison._COLUMNS), "status": "ok", "method": name, "relative_error": e}
        for name, e in zip(methods, errors, strict=True)
    ]
    text = ma.Comparison("", "equal storage", rows)._repr_html_()
    chart = ElementTree.fromstring(text[text.index("<svg") :])
    svg = "{http://www.w3.org/2000/svg}"
    x, y = zip(
        *((float(c.get("cx")), float(c.get("cy"))) for c in chart.iter(svg + "circle")), strict=True
    )
    labels = {t.text: (float(t.get("x")), float(t.get("y"))) for t in chart.iter(svg + "text")}
    assert {"a<b", "cur", "1e-3", "1e-2", "1e-1"} < set(labels)
    assert not {"exact", "failed", "far"} & set(labels)
    # The axis is logarithmic, and each dot is in the row of its name.
    decade = labels["1e-2"][0] - labels["1e-3"][0]
    assert x == pytest.approx(
        [labels["1e-3"][0], labels["1e-2"][0] + decade * np.log10(2)], abs=0.2
    )
    assert y == pytest.approx([labels["a<b"][1], labels["cur"][1]], abs=5)
    assert "<svg" not in ma.Comparison("", "", rows[:2])._repr_html_()


def test_comparison_as_a_data_frame(decaying):
    pytest.importorskip("pandas")
    frame = ma.compare(decaying, ["truncated_svd", "cur"]).to_pandas()
    assert list(frame.index) == ["as_is", "truncated_svd", "cur"]
    assert frame.loc["cur", "relative_error"] > frame.loc["truncated_svd", "relative_error"] > 0


def test_a_warm_start(psd):
    first = quick("chord", psd)
    second = quick("chord", psd, warm_start=first)
    errors = [ma.measure(psd, B).relative_error for B in (first, second)]
    assert errors[1] < errors[0]
    with pytest.raises(ma.InvalidArgument, match="is not a Chord approximation"):
        quick("chord", psd, warm_start=ma.truncated_svd(psd, 3))
    with pytest.raises(ma.InvalidArgument, match="is not an Approximation"):
        quick("chord", psd, warm_start=psd)


def test_a_checkpoint_goes_on_with_the_same_bits(psd, tmp_path):
    options = {"adam_steps": 3000, "max_iterations": 20, "newton_steps": 0, "starts": 1}
    whole = ma.chord(psd, **options)
    path = tmp_path / "fit.h5"
    first = ma.chord(psd, **options, checkpoint=path, max_seconds=0.2 * whole.seconds)
    assert first.summary["termination"] == "max_seconds"
    np.testing.assert_array_equal(ma.load(path).toarray(), first.toarray())
    second = ma.chord(psd, **options, checkpoint=path, resume=True)
    np.testing.assert_array_equal(second.toarray(), whole.toarray())
    np.testing.assert_array_equal(ma.load(path).toarray(), whole.toarray())
    with pytest.raises(ma.FileError, match="resume"):
        ma.chord(psd, **options, checkpoint=path, resume=True)
    ma.chord(psd, **options, checkpoint=path, max_seconds=0.2 * whole.seconds)
    with pytest.raises(ma.InvalidArgument, match="another matrix"):
        ma.chord(psd + np.eye(64), **options, checkpoint=path, resume=True)
    with pytest.raises(ma.InvalidArgument, match="needs a checkpoint"):
        ma.chord(psd, resume=True)


OTHERS = """
import sys
import numpy as np
for name in sys.argv[1:]:
    __import__(name)
import h5py
import matapprox as ma
A = np.random.default_rng(1).standard_normal((200, 150))
B = ma.truncated_svd(A, 10, algorithm="randomized")
B.save("b.h5")
with h5py.File("b.h5", "r") as file:
    names = []
    file.visit(names.append)
with h5py.File("a.h5", "w") as file:
    file["A"] = A
assert np.array_equal(ma.load("a.h5").toarray(), A)
sys.stdout.write(repr((sorted(names), B.toarray().sum().hex())))
"""


def test_beside_h5py_in_either_order(tmp_path):
    pytest.importorskip("h5py")
    outputs = set()
    for order in (["h5py", "matapprox"], ["matapprox", "h5py"]):
        command = [sys.executable, "-c", OTHERS, *order]
        run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stderr
        outputs.add(run.stdout)
    assert len(outputs) == 1


def test_progress_is_called(psd):
    seen = []
    ma.chord(psd, progress=lambda *now: seen.append(now), max_seconds=1.0)
    assert len(seen) >= 2
    assert all(error is None or error > 0 for _, error, _ in seen)
    assert seen[-1][0] >= seen[0][0]


def test_what_a_callback_raises_comes_through(psd):
    def refuse(*now):
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        ma.chord(psd, progress=refuse)


def test_max_seconds(psd, rng):
    begin = time.perf_counter()
    B = ma.chord(psd, max_seconds=0.3)
    assert time.perf_counter() - begin < 5
    assert B.summary["termination"] == "max_seconds"
    large = ma.kernel(rng.standard_normal((20000, 3)))
    with pytest.raises(ma.Interrupted, match="seconds") as raised:
        ma.truncated_svd(large, 50, max_seconds=0.2)
    assert isinstance(raised.value, TimeoutError)


def interrupt_after(seconds):
    timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    return timer


def interrupted(function, wait=0.3):
    """Returns the FitInterrupted and the seconds from Ctrl-C until it was raised."""
    begin = time.perf_counter()
    timer = interrupt_after(wait)
    try:
        with pytest.raises(ma.FitInterrupted) as raised:
            function()
        took = time.perf_counter() - begin - wait
    finally:
        timer.cancel()
        timer.join()
    return raised.value, took


def test_ctrl_c_leaves_the_best_so_far(psd):
    stopped, took = interrupted(lambda: ma.chord(psd, adam_steps=10**6))
    assert isinstance(stopped, KeyboardInterrupt)
    assert isinstance(stopped.approximation, ma.Approximation)
    assert stopped.approximation.summary["termination"] == "interrupted"
    assert ma.measure(psd, stopped.approximation).relative_error < 1
    assert took < 2


@pytest.mark.parametrize(
    "method", ["truncated_svd", "nystrom", "cur", "hierarchical", "jl_projection"]
)
def test_ctrl_c_without_a_result(method, rng):
    large = ma.kernel(rng.standard_normal((30000, 20)))
    rank = {} if method == "hierarchical" else {"rank": 3000}
    stopped, took = interrupted(lambda: getattr(ma, method)(large, **rank))
    assert stopped.approximation is None
    assert took < 5


# Fits that take several times as long, on one thread at order 3000, as Python needs to notice
# Ctrl-C. `exact` is too fast there.
LONG_FITS = {
    "truncated_svd": {"rank": 900, "algorithm": "krylov"},
    "nystrom": {"rank": 1200, "form": "generalized"},
    "cur": {"rank": 1500},
    "jl_projection": {"rank": 2900},
    "chord": {},
    "hierarchical": {},
    "toeplitz": {},
    "kronecker": {},
    "butterfly": {},
    "transform": {},
    "wavelet": {},
}


@pytest.fixture(scope="module")
def order_3000():
    X = np.random.default_rng(2).standard_normal((3000, 60))
    return np.exp(-np.square(X[:, None, 0] - X[None, :, 0])) + X @ X.T / 60


@pytest.fixture
def one_thread():
    before = ma.threads()
    ma.set_threads(1)
    yield
    ma.set_threads(before)


@pytest.mark.parametrize("method", sorted(set(METHODS) - {"exact"}))
@pytest.mark.usefixtures("one_thread")
def test_ctrl_c_at_order_3000(method, order_3000):
    stopped, took = interrupted(
        lambda: getattr(ma, method)(order_3000, **LONG_FITS[method]), wait=0.1
    )
    assert took < 3
    if stopped.approximation is not None:
        assert stopped.approximation.summary["termination"] == "interrupted"


def test_ctrl_c_in_the_pivoted_qr_of_cur():
    """LAPACK's dgeqp3 takes about a second: it finishes, and nothing is started after it."""
    scale = 0.99 ** np.arange(3000)[:, None]
    calls = []

    class Diagonal:
        shape = (3000, 3000)

        def matmat(self, X):
            calls.append(interrupt_after(0.02))
            return scale * X

        rmatmat = matmat

    with pytest.raises(ma.FitInterrupted):
        ma.cur(Diagonal(), 1500)
    assert len(calls) == 1
    calls[0].join()


def test_ctrl_c_while_python_multiplies(decaying):
    class Slow:
        shape = decaying.shape

        def matmat(self, X):
            time.sleep(0.05)
            return decaying @ X

        def rmatmat(self, X):
            time.sleep(0.05)
            return decaying.T @ X

    interrupted(lambda: ma.truncated_svd(Slow(), 5, algorithm="randomized", power_iterations=100))


def test_a_handler_of_ones_own_is_called(psd):
    class Alarm(Exception):
        pass

    def handler(*_):
        raise Alarm

    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(Alarm):
            ma.chord(psd, adam_steps=10**6)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_several_threads_have_the_bits_of_one(decaying):
    expected = ma.truncated_svd(decaying, 10, algorithm="randomized").toarray()
    found = [None] * 4

    def work(k):
        found[k] = ma.truncated_svd(decaying, 10, algorithm="randomized").toarray()

    workers = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for array in found:
        np.testing.assert_array_equal(array, expected)


def test_set_threads(decaying):
    before = ma.threads()
    try:
        results = []
        for count in (1, 3):
            ma.set_threads(count)
            assert ma.threads() == count
            results.append(ma.truncated_svd(decaying, 10).toarray())
        np.testing.assert_array_equal(*results)
        with pytest.raises(ma.InvalidArgument):
            ma.set_threads(0)
    finally:
        ma.set_threads(before)


FORK = """
import os, sys
import numpy as np
import matapprox as ma
A = np.random.default_rng(1).standard_normal((400, 300))
expected = ma.truncated_svd(A, 10, algorithm="randomized").toarray()
child = os.fork()
if child == 0:
    same = np.array_equal(ma.truncated_svd(A, 10, algorithm="randomized").toarray(), expected)
    os._exit(0 if same else 1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_fork_after_use():
    subprocess.run([sys.executable, "-W", "ignore", "-c", FORK], check=True, timeout=60)


def test_import_alone_loads_little():
    code = "import sys, matapprox; print({'sklearn', 'pandas', 'tqdm'} & set(sys.modules))"
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert out.stdout.strip() == "set()"
