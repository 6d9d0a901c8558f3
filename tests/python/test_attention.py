"""Attention layers on arrays, against formulas in NumPy and finite differences."""

import copy
import importlib
import json
import pickle
import subprocess
import sys

import numpy as np
import pytest
from small_layers import LENGTH, ONE_HEAD, OPTIONS, WIDTH

import matapprox as ma

layers = pytest.importorskip("matapprox._layers", exc_type=ma.NotAvailable)


def layer_of(mechanism="softmax", heads=2, options=None, **changes):
    shape = {"width": WIDTH, "length": LENGTH, "causal": False, "dropout": 0.0, "seed": 1}
    return layers.AttentionLayer(
        mechanism,
        OPTIONS.get(mechanism, {}) if options is None else options,
        heads=1 if mechanism in ONE_HEAD else heads,
        **{**shape, **changes},
    )


class Run:
    """A layer with parameters that differ from their initial values, and its passes on a batch."""

    def __init__(self, layer, dtype=np.float64):
        self.layer = layer
        self.parameters = layer.initial_values(3, dtype)
        rng = np.random.default_rng(11)
        for values in self.parameters:
            values += 0.3 * rng.standard_normal(values.shape).astype(dtype)

    def forward(self, X, **settings):
        Y = np.empty((*X.shape[:-1], self.layer.width_out), X.dtype)
        self.samples = self.layer.forward(X, Y, self.parameters, **settings)
        return Y

    def backward(self, X, dY, auxiliary_weight=0.0):
        dX = np.empty_like(X)
        gradients = self.layer.backward(self.samples, X, self.parameters, dY, dX, auxiliary_weight)
        return dX, gradients

    def numpy(self):
        return {p.name: v for p, v in zip(self.layer.parameters, self.parameters, strict=True)}


def batch(rng, samples=2, tokens=LENGTH, dtype=np.float64):
    return rng.standard_normal((samples, tokens, WIDTH)).astype(dtype)


def softmax_attention(X, P, heads, kept=None):
    """The formula of [VSP+17], with N x N matrices; columns that are not kept are padding."""
    Q, K, V = (
        (X @ P[f"{name}.weight"] + P[f"{name}.bias"]).reshape(*X.shape[:-1], heads, -1)
        for name in ("query", "key", "value")
    )
    S = np.einsum("bihp,bjhp->bhij", Q, K) / np.sqrt(Q.shape[-1])
    if kept is not None:
        S = np.where(kept[:, None, None, :], S, -np.inf)
    E = np.exp(S - S.max(axis=-1, keepdims=True))
    E /= E.sum(axis=-1, keepdims=True)
    H = np.einsum("bhij,bjhp->bihp", E, V).reshape(X.shape)
    return H @ P["output.weight"] + P["output.bias"]


@pytest.mark.parametrize("heads", [1, 2, 4])
def test_softmax_is_its_formula(heads, rng):
    run = Run(layer_of(heads=heads))
    X = batch(rng, 3)
    np.testing.assert_allclose(
        run.forward(X), softmax_attention(X, run.numpy(), heads), rtol=1e-12, atol=1e-13
    )
    kept = rng.random((3, LENGTH)) < 0.6
    kept[:, 0] = True
    Y = run.forward(X, mask=kept)
    expected = softmax_attention(X, run.numpy(), heads, kept)
    np.testing.assert_allclose(Y[kept], expected[kept], rtol=1e-12, atol=1e-13)


def test_the_gradient_of_softmax_is_its_formula(rng):
    """For one head and no biases: Y = E X V W, E = softmax(X Q K^T X^T / sqrt(d))."""
    run = Run(layer_of(heads=1))
    P = run.numpy()
    for name in ("query", "key", "value", "output"):
        P[f"{name}.bias"][:] = 0
    X, dY = batch(rng, 1), batch(rng, 1)
    run.forward(X)
    dX, gradients = run.backward(X, dY)
    x, dy = X[0], dY[0]
    W = {name: P[f"{name}.weight"] for name in ("query", "key", "value", "output")}
    Q, K, V = x @ W["query"], x @ W["key"], x @ W["value"]
    E = np.exp(Q @ K.T / np.sqrt(WIDTH))
    E /= E.sum(axis=1, keepdims=True)
    dH = dy @ W["output"].T
    dV, dE = E.T @ dH, dH @ V.T
    dS = E * (dE - (E * dE).sum(axis=1, keepdims=True)) / np.sqrt(WIDTH)
    dQ, dK = dS @ K, dS.T @ Q
    expected = {
        "query.weight": x.T @ dQ,
        "key.weight": x.T @ dK,
        "value.weight": x.T @ dV,
        "output.weight": (E @ V).T @ dy,
        "value.bias": dV.sum(axis=0, keepdims=True),
    }
    found = dict(zip(P, gradients, strict=True))
    for name, values in expected.items():
        np.testing.assert_allclose(found[name], values, rtol=1e-11, atol=1e-12, err_msg=name)
    np.testing.assert_allclose(
        dX[0], dQ @ W["query"].T + dK @ W["key"].T + dV @ W["value"].T, rtol=1e-11, atol=1e-12
    )


def tensors_of(path):
    """Arrays of a safetensors file by name."""
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    arrays = {}
    for name, tensor in header.items():
        if name != "__metadata__":
            begin, end = (8 + size + offset for offset in tensor["data_offsets"])
            arrays[name] = np.frombuffer(data[begin:end], np.float32).reshape(tensor["shape"])
    return arrays


@pytest.mark.parametrize("mechanism", ["softmax", "linformer", "performer", "flash"])
def test_the_bits_are_those_of_the_program(mechanism, attention_program, tmp_path):
    options = OPTIONS.get(mechanism, {})
    named = ":".join([mechanism, *(f"{name}={value}" for name, value in options.items())])
    path = tmp_path / "tensors.safetensors"
    attention_program(
        *("attention", "bench", "--mechanisms", named, "--tensors", path, "--rounds", 1),
        *("--lengths", LENGTH, "--width", WIDTH, "--heads", 1 if mechanism in ONE_HEAD else 2),
    )
    tensors = tensors_of(path)
    run = Run(layer_of(mechanism), np.float32)
    names = [f"layer.{p.name}" for p in run.layer.parameters]
    assert set(names) == {name for name in tensors if name.startswith("layer.")}
    run.parameters = [tensors[name] for name in names]
    X = tensors["X"][None]
    Y = run.forward(X)
    np.testing.assert_array_equal(Y[0], tensors["Y"])
    dX, gradients = run.backward(X, Y)
    np.testing.assert_array_equal(dX[0], tensors["gradient.X"])
    for name, gradient in zip(names, gradients, strict=True):
        if f"gradient.{name}" in tensors:
            np.testing.assert_array_equal(gradient, tensors[f"gradient.{name}"])


@pytest.mark.parametrize("mechanism", layers.MECHANISMS)
def test_gradients_are_differences(mechanism, rng):
    run = Run(layer_of(mechanism))
    X = batch(rng, 3, LENGTH - 1)
    dY = rng.standard_normal((3, LENGTH - 1, run.layer.width_out))
    run.forward(X, auxiliary=True)
    dX, gradients = run.backward(X, dY, 0.7)

    def value():
        Y = run.forward(X, auxiliary=True, keep=False)
        return (Y * dY).sum() + 0.7 * run.samples.auxiliary

    # Derivative along a random direction of each array.
    trained = [p.trained for p in run.layer.parameters]
    for array, gradient, differentiable in zip(
        [X, *run.parameters], [dX, *gradients], [True, *trained], strict=True
    ):
        if not differentiable:
            continue
        direction = rng.standard_normal(array.shape)
        start, h = array.copy(), 1e-6
        array[...] = start + h * direction
        above = value()
        array[...] = start - h * direction
        below = value()
        array[...] = start
        expected = (gradient * direction).sum()
        assert (above - below) / (2 * h) == pytest.approx(expected, rel=2e-6, abs=2e-6)


@pytest.mark.parametrize("mechanism", layers.MECHANISMS)
def test_a_second_backward_pass_gives_the_same(mechanism, rng):
    run = Run(layer_of(mechanism))
    X = batch(rng, 5)
    dY = rng.standard_normal((5, LENGTH, run.layer.width_out))
    Y = run.forward(X)
    first = run.backward(X, dY)
    for _ in range(2):
        again = run.backward(X, dY)
        np.testing.assert_array_equal(again[0], first[0])
        for a, b in zip(again[1], first[1], strict=True):
            np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(run.forward(X, keep=False), Y)
    np.testing.assert_array_equal(run.backward(X, dY)[0], first[0])


@pytest.mark.parametrize("mechanism", layers.MECHANISMS)
def test_float32_agrees_with_float64(mechanism, rng):
    real, single = Run(layer_of(mechanism)), Run(layer_of(mechanism), np.float32)
    X = batch(rng)
    dY = rng.standard_normal((2, LENGTH, real.layer.width_out))
    Y = real.forward(X)
    Z = single.forward(X.astype(np.float32))
    assert Z.dtype == np.float32
    np.testing.assert_allclose(Z, Y, atol=3e-5 * np.abs(Y).max())
    dX, gradients = real.backward(X, dY)
    dZ, singles = single.backward(X.astype(np.float32), dY.astype(np.float32))
    np.testing.assert_allclose(dZ, dX, atol=1e-4 * np.abs(dX).max())
    for a, b in zip(singles, gradients, strict=True):
        assert a.dtype == np.float32
        np.testing.assert_allclose(a, b, atol=1e-4 * max(np.abs(b).max(), 1))


def test_bits_do_not_depend_on_threads_or_on_where_parameters_lie(rng):
    run = Run(layer_of("softmax", dropout=0.25), np.float32)
    X, dY = batch(rng, 37, dtype=np.float32), batch(rng, 37, dtype=np.float32)
    before = ma.threads()
    found = []
    try:
        for threads in (1, 2, 3):
            ma.set_threads(threads)
            Y = run.forward(X, training=True, seed=5)
            found.append((Y, *run.backward(X, dY)))
        run.parameters = [values.copy() for values in run.parameters]
        Y = run.forward(X, training=True, seed=5)
        found.append((Y, *run.backward(X, dY)))
    finally:
        ma.set_threads(before)
    for Y, dX, gradients in found[1:]:
        np.testing.assert_array_equal(Y, found[0][0])
        np.testing.assert_array_equal(dX, found[0][1])
        for a, b in zip(gradients, found[0][2], strict=True):
            np.testing.assert_array_equal(a, b)


def test_the_gradient_of_a_batch_is_the_sum_over_its_samples(rng):
    run = Run(layer_of("linformer"))
    X, dY = batch(rng, 23), batch(rng, 23)
    run.forward(X)
    dX, gradients = run.backward(X, dY)
    sums = [np.zeros_like(g) for g in gradients]
    for i in range(23):
        run.forward(X[i : i + 1])
        one, parts = run.backward(X[i : i + 1], dY[i : i + 1])
        np.testing.assert_array_equal(one[0], dX[i])
        for total, part in zip(sums, parts, strict=True):
            total += part
    for a, b in zip(gradients, sums, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-13)


def test_dropout_acts_in_training_alone(rng):
    run, without = Run(layer_of(dropout=0.5)), Run(layer_of())
    X = batch(rng, 2)
    np.testing.assert_array_equal(run.forward(X), without.forward(X))
    first = run.forward(X, training=True, seed=1)
    assert not np.array_equal(first, run.forward(X))
    np.testing.assert_array_equal(run.forward(X, training=True, seed=1), first)
    assert not np.array_equal(run.forward(X, training=True, seed=2), first)
    # The samples of a batch have different masks.
    same = run.forward(np.repeat(X[:1], 2, axis=0), training=True, seed=1)
    assert not np.array_equal(same[0], same[1])
    # The mask has the mean 1: for V all ones, each row is the sum of its kept entries.
    P = run.numpy()
    P["value.weight"][:], P["value.bias"][:] = 0, 1
    P["output.weight"][:], P["output.bias"][:] = np.eye(WIDTH), 0
    rows = run.forward(batch(rng, 400), training=True, seed=3)
    assert rows.mean() == pytest.approx(1, abs=0.03)
    assert rows.std() > 0.1


def test_padding_has_no_influence(rng):
    run = Run(layer_of("nystromformer"))
    X = batch(rng)
    kept = np.arange(LENGTH) < np.array([[5], [3]])
    Y = run.forward(X, mask=kept)
    X[~kept] = 100.0
    np.testing.assert_array_equal(run.forward(X, mask=kept)[kept], Y[kept])


def test_the_auxiliary_loss_is_a_mean_over_the_batch(rng):
    run = Run(layer_of("singularformer"))
    X = batch(rng, 3)
    run.forward(X, auxiliary=True)
    whole = run.samples.auxiliary
    parts = []
    for i in range(3):
        run.forward(X[i : i + 1], auxiliary=True)
        parts.append(run.samples.auxiliary)
    assert whole == pytest.approx(np.mean(parts), rel=1e-12)
    assert whole > 0
    run.forward(X)
    assert run.samples.auxiliary == 0


def test_parameters_start_as_the_seed_says():
    layer = layer_of("performer")
    first, again, other = (layer.initial_values(seed) for seed in (1, 1, 2))
    base = first[0].base
    assert all(values.base is base for values in first)
    for p, a, b, c in zip(layer.parameters, first, again, other, strict=True):
        assert a.shape == (p.rows, p.cols)
        np.testing.assert_array_equal(a, b)
        assert not np.array_equal(a, c)
    assert [p.name for p in layer.parameters if not p.trained] == ["omega"]
    assert {p.name for p in layer_of().parameters} == {
        f"{name}.{part}"
        for name in ("query", "key", "value", "output")
        for part in ("weight", "bias")
    }


def test_copies_are_the_same_layer(rng):
    run = Run(layer_of("bigbird", length=40, seed=5, options={"block": 2, "random_blocks": 1}))
    X = batch(rng, 1, 40)
    Y = run.forward(X)
    for other in (copy.deepcopy(run.layer), pickle.loads(pickle.dumps(run.layer))):
        run.layer = other
        np.testing.assert_array_equal(run.forward(X), Y)
    run.layer = layer_of("bigbird", length=40, seed=6, options={"block": 2, "random_blocks": 1})
    assert not np.array_equal(run.forward(X), Y)


def test_an_empty_batch():
    run = Run(layer_of())
    X = np.empty((0, LENGTH, WIDTH))
    assert run.forward(X).shape == X.shape
    dX, gradients = run.backward(X, X)
    assert dX.shape == X.shape
    assert all(not gradient.any() for gradient in gradients)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"mechanism": "sofmax"}, ma.InvalidArgument, "not one of softmax, psf.*mean 'softmax'"),
        ({"mechanism": 3}, ma.InvalidArgument, "mechanism = 3 is not one of"),
        ({"options": {"rnk": 3}, "mechanism": "linformer"}, TypeError, "'rnk'.*mean 'rank'"),
        ({"options": {"rank": "x"}, "mechanism": "linformer"}, ma.InvalidArgument, "not an int"),
        ({"options": {"scope": "all"}, "mechanism": "linformer"}, ma.InvalidArgument, "layer"),
        ({"options": {"residual_scores": True}}, ma.InvalidArgument, "a single layer"),
        ({"heads": 3}, ma.InvalidArgument, "heads"),
        ({"mechanism": "psf", "width": 0}, ma.InvalidArgument, "width"),
        ({"length": -1}, ma.InvalidArgument, "length"),
        ({"length": 2.5}, ma.InvalidArgument, "not an int"),
        ({"dropout": 1.0}, ma.InvalidArgument, "dropout"),
        ({"dropout": 0.1, "mechanism": "simpletron"}, ma.InvalidArgument, "dropout"),
        ({"causal": True, "mechanism": "linformer"}, ma.InvalidArgument, "causal"),
        ({"causal": 1.5}, ma.InvalidArgument, "causal = 1.5"),
    ],
)
def test_what_is_no_layer_is_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        layer_of(**arguments)


def test_arrays_that_do_not_fit_are_refused(rng):
    run = Run(layer_of())
    X = batch(rng)
    for bad in (X[:, :, 1:].copy(), np.zeros((2, LENGTH + 1, WIDTH)), np.zeros((2, 0, WIDTH))):
        with pytest.raises(ma.InvalidArgument, match=r"attention: "):
            run.forward(bad)
    for bad in (X[0], X[:, ::2], X.astype(np.float32)):
        with pytest.raises((TypeError, ma.InvalidArgument)):
            run.forward(bad)
    with pytest.raises(ma.InvalidArgument, match=r"the mask must be 2 x 7"):
        run.forward(X, mask=np.ones((2, 3), bool))
    parameters = run.parameters
    for bad in (
        parameters[:-1],
        [*parameters[:-1], parameters[-1].T],
        [*parameters[:-1], parameters[-1].astype(np.float32)],
        [*parameters[:-1], "text"],
    ):
        run.parameters = bad
        with pytest.raises(ma.InvalidArgument, match="parameter"):
            run.forward(X)
    run.parameters = parameters
    run.forward(X)
    for X_bad, dY_bad in ((X[:1], X), (X, X[:1])):
        with pytest.raises(ma.InvalidArgument, match="must be 2 x 7 x 8"):
            run.backward(X_bad, dY_bad)


def test_import_loads_neither_layers_nor_torch():
    code = (
        "import sys, matapprox; "
        "assert not {'torch', 'matapprox._attention', 'matapprox.torch'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_a_build_without_layers_says_so(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.delitem(sys.modules, "matapprox._layers")
    with pytest.raises(ma.NotAvailable, match="no attention layers"):
        importlib.import_module("matapprox._layers")


FORKED = """
import os
import numpy as np
import matapprox as ma
from matapprox._layers import AttentionLayer
ma.set_threads(4)
layer = AttentionLayer("softmax", {}, width=8, heads=2, length=9, causal=False, dropout=0.0, seed=1)
parameters = layer.initial_values(1)
X = np.random.default_rng(0).standard_normal((40, 9, 8))

def passes():
    Y, dX = np.empty_like(X), np.empty_like(X)
    samples = layer.forward(X, Y, parameters)
    return [Y, dX, *layer.backward(samples, X, parameters, X, dX)]

expected = passes()
child = os.fork()
assert all(np.array_equal(a, b) for a, b in zip(passes(), expected, strict=True))
if child != 0:
    raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_both_processes_go_on_after_a_fork():
    subprocess.run([sys.executable, "-W", "ignore", "-c", FORKED], check=True, timeout=60)
