"""Attention layers on arrays, forward and backward: the basis of `matapprox.torch`."""

from __future__ import annotations

import atexit
import functools
import importlib.util
import os
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from . import _core
from ._check import bound, choice, real_number, whole_number
from ._errors import InvalidArgument, NotAvailable
from ._options import Option, documentation_of, parameters_of, texts_of

if importlib.util.find_spec("matapprox._attention") is None:
    raise NotAvailable(
        "Attention: this build has no attention layers; build the package with "
        "--config-settings=cmake.define.MATAPPROX_COMPONENTS='core;io;attention'"
    )

from . import _attention

atexit.register(_attention.end)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_attention.forget_other_threads)

MECHANISMS: dict[str, tuple[str, list[Option]]] = {
    name: (summary, options) for name, summary, options in _attention.mechanisms()
}
# Prefix that the layers add to the names of their parameters.
_PREFIX = "attention."


class Parameter(NamedTuple):
    """A parameter matrix, which is passed to a layer with each call."""

    name: str
    rows: int
    cols: int
    trained: bool


def documentation() -> dict[str, str]:
    """Returns the description of each mechanism and its options."""
    return {
        name: f"{summary}\n\n{documentation_of(options)}".rstrip()
        for name, (summary, options) in MECHANISMS.items()
    }


class AttentionLayer:
    """A function of samples of tokens and of parameters, with its vector-Jacobian product.

    Arrays are float32 or float64, in C order, and all of one type: samples x tokens x width as
    input, samples x tokens x width_out as output. No array is copied, and neither are parameters
    that are contiguous in memory, as in `initial_values`.
    """

    def __init__(
        self,
        mechanism: str,
        options: dict[str, Any],
        *,
        width: int,
        heads: int,
        length: int,
        causal: bool,
        dropout: float,
        seed: int,
    ) -> None:
        self._recipe = functools.partial(
            AttentionLayer,
            mechanism,
            options,
            width=width,
            heads=heads,
            length=length,
            causal=causal,
            dropout=dropout,
            seed=seed,
        )
        choice("Attention", "mechanism", mechanism, list(MECHANISMS))
        known = MECHANISMS[mechanism][1]
        bound(f"Attention: {mechanism}", parameters_of(known), (), options)
        if options.get("residual_scores"):
            raise InvalidArgument(
                "Attention: residual_scores needs the scores of the layers below, which a single "
                "layer does not have"
            )
        if not isinstance(causal, (bool, np.bool_)):
            raise InvalidArgument(f"Attention: causal = {causal!r} is not a bool")
        self._layer = _attention.Layer(
            mechanism,
            texts_of(f"Attention: {mechanism}", known, options),
            whole_number("Attention", "width", width, 1),
            whole_number("Attention", "heads", heads, 1),
            whole_number("Attention", "length", length, 1),
            bool(causal),
            whole_number("Attention", "seed", seed),
            real_number("Attention", "dropout", dropout),
        )
        self.width_out = self._layer.width_out
        self.remark = self._layer.remark
        self.parameters = [
            Parameter(name.removeprefix(_PREFIX), rows, cols, trained)
            for name, rows, cols, trained in self._layer.parameters
        ]

    def __reduce__(self) -> Any:
        return self._recipe, ()

    def split(self, block: Any) -> list[Any]:
        """Splits a block of all parameters, or of their gradient, into one view per matrix."""
        parts, begin = [], 0
        for _, rows, cols, _ in self.parameters:
            parts.append(block[begin : begin + rows * cols].reshape(rows, cols))
            begin += rows * cols
        return parts

    def initial_values(self, seed: int, dtype: Any = np.float64) -> list[Any]:
        """Returns the initial parameters, one after the other in one block of memory."""
        return self.split(self._layer.initial_values(seed).astype(dtype, copy=False))

    def forward(
        self,
        X: Any,
        Y: Any,
        parameters: Sequence[Any],
        *,
        mask: Any = None,
        training: bool = False,
        seed: int = 1,
        auxiliary: bool = False,
        keep: bool = True,
    ) -> Any:
        """Sets Y, and returns the state for `backward`, which recomputes it without `keep`."""
        _attention.set_threads(_core.threads())
        mask = None if mask is None else np.ascontiguousarray(mask).view(np.uint8)
        return self._layer.forward(X, Y, list(parameters), mask, training, seed, auxiliary, keep)

    def backward(
        self,
        samples: Any,
        X: Any,
        parameters: Sequence[Any],
        dY: Any,
        dX: Any,
        auxiliary_weight: float = 0.0,
    ) -> list[Any]:
        """Sets dX, and returns the gradient of each parameter."""
        _attention.set_threads(_core.threads())
        gradient = np.empty(sum(p.rows * p.cols for p in self.parameters), X.dtype)
        samples.backward(X, list(parameters), dY, auxiliary_weight, dX, gradient)
        return self.split(gradient)
