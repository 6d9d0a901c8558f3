import os
import signal
import subprocess

import numpy as np
import pytest

# A shell lets its background processes ignore Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.fixture
def decaying(rng):
    """A 90 x 60 matrix with singular values 0.7^i."""
    U, _ = np.linalg.qr(rng.standard_normal((90, 60)))
    V, _ = np.linalg.qr(rng.standard_normal((60, 60)))
    return U * 0.7 ** np.arange(60) @ V.T


@pytest.fixture
def psd(rng):
    """A symmetric positive definite 64 x 64 matrix, exactly symmetric."""
    X = rng.standard_normal((64, 64)) * 0.8 ** np.arange(64)
    A = X @ X.T
    return (A + A.T) / 2


@pytest.fixture
def program():
    """The command line program, if the environment names it."""
    path = os.environ.get("MATAPPROX_PROGRAM")
    if not path:
        pytest.skip("MATAPPROX_PROGRAM does not name the command line program")

    def run(*arguments):
        subprocess.run([path, *map(str, arguments)], check=True, capture_output=True)

    return run


@pytest.fixture
def attention_program(program):
    """The program, if it has attention layers; that of a wheel has none."""
    try:
        program("attention", "list")
    except subprocess.CalledProcessError as error:
        if error.returncode == 5:
            pytest.skip("the program has no attention layers")
        raise
    return program
