"""Additional parts of a wheel (scripts/wheel): LAPACK from SciPy, the program, the licenses."""

import ctypes
import signal
import subprocess
import sys
import sysconfig
import time
import types
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse
from scipy.linalg import cython_blas, cython_lapack

import matapprox as ma
from matapprox import _core

pytestmark = pytest.mark.skipif(
    not hasattr(_core, "use_scipy"), reason="matapprox was built on the spot, not from a wheel"
)

PROGRAM = Path(sysconfig.get_path("scripts")) / "matapprox"


def run(*arguments):
    command = [PROGRAM, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


LIBRARIES = """
import matapprox as ma
import numpy as np
ma.truncated_svd(np.eye(8), 2)
paths = {line.split()[-1] for line in open("/proc/self/maps") if "/" in line}
print(*(path for path in paths if "blas" in path or "lapack" in path), sep="\\n")
"""


def test_there_is_no_other_blas_than_those_of_numpy_and_scipy():
    command = [sys.executable, "-c", LIBRARIES]
    found = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
    folders = {Path(path).parent.name.split(".")[0] for path in found.split()}
    assert folders <= {"numpy", "scipy", "linalg"}, found


def test_the_blas_keeps_its_threads_and_its_core():
    library = ctypes.CDLL(cython_lapack.__file__)
    if not hasattr(library, "scipy_openblas_get_num_threads"):
        pytest.skip("SciPy is not on an OpenBLAS of its own")
    library.scipy_openblas_get_corename.restype = ctypes.c_char_p
    assert _core.blas()[0].startswith("OpenBLAS ")
    core = library.scipy_openblas_get_corename()
    before = library.scipy_openblas_get_num_threads()
    library.scipy_openblas_set_num_threads(2)
    A = np.random.default_rng(0).standard_normal((40, 30))
    try:
        ma.truncated_svd(A, 4)
        assert library.scipy_openblas_get_num_threads() == 2
    finally:
        library.scipy_openblas_set_num_threads(before)
    assert library.scipy_openblas_get_corename() == core == _core.blas()[1].encode()


def test_functions_of_other_arguments_are_refused():
    def lapack_with(**changed):
        module = types.ModuleType("lapack")
        module.__file__ = cython_lapack.__file__
        module.__pyx_capi__ = {**cython_lapack.__pyx_capi__, **changed}
        return module

    own = cython_lapack.__pyx_capi__
    for other in (own["dgesvd"], own["sgesdd"], own["dgesv"], 7):
        with pytest.raises(ma.NotAvailable, match="SciPy has dgesdd as '"):
            _core.use_scipy(cython_blas, lapack_with(dgesdd=other))
    absent = lapack_with()
    del absent.__pyx_capi__["dpotrf"]
    with pytest.raises(ma.NotAvailable, match="SciPy has dpotrf as 'nothing'"):
        _core.use_scipy(cython_blas, absent)
    elsewhere = lapack_with()
    elsewhere.__file__ = "/no/such/library.so"
    with pytest.raises(ma.NotAvailable, match=r"/no/such/library\.so"):
        _core.use_scipy(cython_blas, elsewhere)
    assert ma.truncated_svd(np.eye(4), 2).rank == 2


def test_the_program_is_there():
    assert run("--version").stdout.split()[-1] == ma.__version__
    nothing = run("info", "no/such.mtx")
    assert (nothing.returncode, nothing.stdout) == (3, ""), nothing.stderr


def test_what_the_program_has_not_is_refused_with_a_reason(tmp_path):
    scipy.io.savemat(tmp_path / "a.mat", {"A": np.eye(3)})
    np.save(tmp_path / "a.npy", np.eye(3))
    scipy.io.mmwrite(tmp_path / "a.mtx", scipy.sparse.eye(3))
    for reason, *arguments in (
        ("not part of the Python package", "attention", "list"),
        ("not part of the Python package", "reproduce", "figure5"),
        ("scipy.io.loadmat", "info", tmp_path / "a.mat"),
        ("MATAPPROX_WITH_SUITESPARSE", "info", tmp_path / "a.mtx", "--as", "inverse"),
    ):
        refused = run(*arguments)
        assert refused.returncode == 5, (arguments, refused)
        assert reason in refused.stderr
    saved = tmp_path / "b.mat"
    command = ("approximate", tmp_path / "a.npy", "truncated_svd", "--rank", 2)
    assert run(*command, "-o", tmp_path / "b.h5").returncode == 0
    assert run("export", tmp_path / "b.h5", saved).returncode == 0
    assert scipy.io.loadmat(saved)["faust_factors"][0, 0].shape == (3, 2)


def test_signals_end_the_program(tmp_path):
    S = np.random.default_rng(0).standard_normal((200, 200))
    np.save(tmp_path / "s.npy", S + S.T)
    fit = (PROGRAM, "approximate", tmp_path / "s.npy", "chord", "--adam-steps", "1000000")
    saved = tmp_path / "c.h5"
    with subprocess.Popen([*fit, "-o", saved, "--checkpoint-seconds", "0.1"]) as program:
        for _ in range(600):
            if saved.exists() or program.poll() is not None:
                break
            time.sleep(0.05)
        program.send_signal(signal.SIGINT)
        assert program.wait(20) == 130
    assert ma.load(saved).shape == (200, 200)
    with subprocess.Popen([PROGRAM, "methods", "--json", "-"], stdout=subprocess.PIPE) as program:
        program.stdout.close()
        assert program.wait(20) == -signal.SIGPIPE


def test_licenses_of_what_is_inside_are_there():
    folder = Path(metadata.distribution("matapprox").locate_file(""))
    files = {path.name: path for path in metadata.files("matapprox") if "licenses" in path.parts}
    wanted = ("LICENSE", "hdf5-COPYING.txt", "libeigen3-dev.txt", "nanobind.txt", "Apache-2.0.txt")
    for name in wanted:
        assert (folder / files[name]).stat().st_size > 500, name
