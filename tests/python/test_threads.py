"""Fits and threads of Python, and fits at the end of the interpreter."""

import gc
import subprocess
import sys
import types
import weakref

import numpy as np
import pytest

import matapprox as ma
from matapprox._progress import progress_callback

DAEMONS = """
import sys, threading, time
import numpy as np
import matapprox as ma
A = np.random.default_rng(0).standard_normal((300, 300))
S = A + A.T

class Slow:
    shape = A.shape
    def matmat(self, X):
        time.sleep(0.01)
        return A @ X
    def rmatmat(self, X):
        time.sleep(0.01)
        return A.T @ X

wrapped, dense = ma.aslinearoperator(Slow()), ma.aslinearoperator(S)
work = {
    "fit": lambda: ma.chord(S, adam_steps=10**6),
    "operator": lambda: ma.truncated_svd(
        Slow(), 5, algorithm="randomized", power_iterations=1000
    ),
    "callback": lambda: ma.chord(S, adam_steps=10**6, progress=lambda *now: time.sleep(0.01)),
    "product of Python": lambda: wrapped @ np.ones(300),
    "product": lambda: dense @ np.ones(300),
    "layer": lambda: layer(),
}[sys.argv[1]]

def layer():
    from matapprox._layers import AttentionLayer
    options = {"width": 8, "heads": 1, "length": 600, "causal": False, "dropout": 0.0, "seed": 1}
    softmax = AttentionLayer("softmax", {}, **options)
    X = np.ones((16, 600, 8))
    Y = np.empty_like(X)
    parameters = softmax.initial_values(1)
    while True:
        samples = softmax.forward(X, Y, parameters)
        softmax.backward(samples, X, parameters, X, Y)

def forever():
    while True:
        work()

for _ in range(2):
    threading.Thread(target=forever, daemon=True).start()
time.sleep(0.3)
"""


@pytest.mark.parametrize(
    "work", ["fit", "operator", "callback", "product of Python", "product", "layer"]
)
def test_the_interpreter_ends_while_daemon_threads_work(work):
    if work == "layer":
        pytest.importorskip("matapprox._layers", exc_type=ma.NotAvailable)
    command = [sys.executable, "-c", DAEMONS, work]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (run.returncode, run.stderr) == (0, "")


FORKED = """
import os, threading, time
import numpy as np
import matapprox as ma
A = np.random.default_rng(0).standard_normal((300, 300))
S = A + A.T
threading.Thread(target=lambda: ma.chord(S, adam_steps=10**6), daemon=True).start()
time.sleep(0.2)
child = os.fork()
if child != 0:
    raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_child_does_not_wait_for_threads_of_its_parent():
    subprocess.run([sys.executable, "-W", "ignore", "-c", FORKED], check=True, timeout=60)


MODULE_LEVEL = """
import numpy as np
import matapprox as ma
class Products:
    shape = (4, 4)
    def matmat(self, X):
        return np.eye(4) @ X
operator = ma.aslinearoperator(Products())
operator @ np.ones(4)
"""


def test_nothing_is_said_to_leak():
    command = [sys.executable, "-c", MODULE_LEVEL]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert run.stderr == ""


def test_a_cycle_through_an_operator_is_collected():
    class Products:
        shape = (4, 4)

        def matmat(self, X):
            return X

    products = Products()
    products.operator = ma.aslinearoperator(products)
    gone = weakref.ref(products)
    del products
    gc.collect()
    assert gone() is None


STUCK = """
import os, signal, sys, threading, time
import numpy as np
import matapprox as ma
A = np.eye(64)

entered = threading.Event()

def stuck(*now):
    entered.set()
    while True:
        pass

class Stuck:
    shape = A.shape
    def matmat(self, X):
        stuck()
    rmatmat = matmat

def interrupt():
    entered.wait()
    for _ in range(2):
        time.sleep(0.4)
        os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=interrupt).start()
try:
    if sys.argv[1] == "operator":
        ma.truncated_svd(Stuck(), 3)
    else:
        ma.chord(A, progress=stuck)
except ma.FitInterrupted:
    print("interrupted")
"""


@pytest.mark.parametrize("where", ["operator", "callback"])
def test_a_second_ctrl_c_interrupts_python(where):
    command = [sys.executable, "-c", STUCK, where]
    run = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert (run.returncode, run.stdout) == (0, "interrupted\n"), run.stderr


@pytest.mark.parametrize("fails", [False, True])
def test_a_bar_comes_to_its_end_and_is_closed(fails, monkeypatch):
    bars = []

    class Bar:
        def __init__(self, total, **_):
            self.total, self.n, self.closed = total, 0.0, False
            bars.append(self)

        def refresh(self):
            pass

        def set_postfix_str(self, *_, **__):
            pass

        def close(self):
            self.closed = True

    tqdm = types.ModuleType("tqdm")
    tqdm.auto = types.ModuleType("tqdm.auto")
    tqdm.auto.tqdm = Bar
    monkeypatch.setitem(sys.modules, "tqdm", tqdm)
    monkeypatch.setitem(sys.modules, "tqdm.auto", tqdm.auto)
    try:
        with progress_callback("fit", True) as show:
            show(3, 0.5, 0.25)
            assert bars[0].n == 0.25
            if fails:
                raise LookupError
    except LookupError:
        assert fails
    assert bars[0].closed
    assert bars[0].n == (0.25 if fails else 1.0)
    ma.nystrom(np.eye(8), 3, progress=True)
    assert bars[1].closed
    assert bars[1].n == 1.0
    with pytest.raises(ma.InvalidArgument):
        ma.nystrom(np.eye(8), 30, progress=True)
    assert bars[2].closed
