"""PyTorch: differentiable operators, and attention layers as modules, on the CPU."""

from __future__ import annotations

import operator as _operator
import sys
from typing import Any

import numpy as np
import torch
from torch import nn

from ._errors import InvalidArgument, NotAvailable
from ._operators import LinearOperator, aslinearoperator

__all__ = ["Attention", "LinearOperatorFunction", "Operator", "mechanisms", "multiply"]

_FLOATS = (torch.float32, torch.float64)


def _check(function: str, name: str, x: Any) -> None:
    """Rejects a tensor that is not supported here, with the reason."""
    if not isinstance(x, torch.Tensor):
        raise InvalidArgument(f"{function}: {name} is a {type(x).__name__}, not a tensor")
    if x.device.type != "cpu":
        raise InvalidArgument(
            f"{function}: {name} is on {x.device}; matapprox.torch computes on the CPU, "
            f"use {name}.cpu()"
        )
    if x.layout is not torch.strided:
        raise InvalidArgument(f"{function}: {name} is {x.layout}; dense tensors are needed")
    if x.dtype not in _FLOATS:
        raise InvalidArgument(
            f"{function}: {name} is {x.dtype}; supported are torch.float32 and torch.float64"
        )


class _Uncompiled:
    """A function that torch.compile does not compile, since nothing in it can be traced.

    It applies torch.compiler.disable once torch.compile is in use, since the import of that
    function takes as long as that of PyTorch itself.
    """

    def __init__(self, function: Any) -> None:
        self._function = function
        self._disabled: Any = None

    def __call__(self, *arguments: Any) -> Any:
        if self._disabled is None:
            if "torch._dynamo" not in sys.modules:
                return self._function(*arguments)
            self._disabled = torch.compiler.disable(self._function)
        return self._disabled(*arguments)


def _product(A: LinearOperator, x: Any) -> Any:
    _check("multiply", "x", x)
    X = x.numpy(force=True)
    m, n = A.shape
    if X.ndim == 0 or X.shape[max(X.ndim - 2, 0)] != n:
        raise InvalidArgument(
            f"multiply: x of shape {tuple(X.shape)} does not fit an operator that is {m} x {n}; "
            f"use ({n},), ({n}, k) or (..., {n}, k)"
        )
    # Rows of these arrays are columns of x and of the result.
    columns = X.reshape(1, n) if X.ndim == 1 else X.swapaxes(-1, -2).reshape(-1, n)
    Y = np.empty((columns.shape[0], m))
    if columns.size:
        A._handle.apply(columns.T.astype(np.float64, copy=False), Y.T, False)
    Y = Y.astype(X.dtype, copy=False)
    if X.ndim == 1:
        return torch.from_numpy(Y[0])
    return torch.from_numpy(Y.reshape(*X.shape[:-2], X.shape[-1], m).swapaxes(-1, -2))


class LinearOperatorFunction(torch.autograd.Function):
    """Computes A x for an operator A and a tensor x; the gradient with respect to x is A^T g.

    `multiply` calls `LinearOperatorFunction.apply(A, x)`. The function is linear in x, so
    derivatives of any order are products too, also those of `torch.func` and of forward mode.
    """

    @staticmethod
    def forward(A: Any, x: Any) -> Any:
        """Returns A x, computed in float64, in the type of x."""
        return _product(aslinearoperator(A), x)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Saves the operator for the derivatives."""
        ctx.A = aslinearoperator(inputs[0])

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        """Returns A^T g."""
        return None, LinearOperatorFunction.apply(ctx.A.T, gradients[0])

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        """Returns A t."""
        return LinearOperatorFunction.apply(ctx.A, tangents[1])

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], A: Any, x: Any) -> Any:
        """Multiplies all at once: vectors as columns of a matrix, matrices as a batch."""
        out_dim = 1 if x.ndim == 2 else 0
        return LinearOperatorFunction.apply(A, x.movedim(in_dims[1], out_dim)), out_dim


def _differentiable_product(A: LinearOperator, x: Any) -> Any:
    return LinearOperatorFunction.apply(A, x)


_uncompiled_product = _Uncompiled(_differentiable_product)


def multiply(A: Any, x: torch.Tensor) -> torch.Tensor:
    """Return A x, differentiable with respect to x.

    Parameters
    ----------
    A : operator, array_like or sparse matrix
        An m x n matrix in any form that `matapprox.aslinearoperator` accepts, such as an
        `Approximation` or a kernel that is never formed. It is a constant; its products are
        computed in float64.
    x : tensor of shape (n,), (n, k) or (..., n, k)
        float32 or float64, on the CPU.

    Returns
    -------
    tensor of shape (m,), (m, k) or (..., m, k)
        The product, in the type of x.

    Raises
    ------
    InvalidArgument
        x has another shape or type, or is on another device.
    """
    product: torch.Tensor = _uncompiled_product(A, x)
    return product


class Operator(nn.Module):
    """A module that applies `multiply` with an operator. It has no parameters.

    Parameters
    ----------
    A : operator, array_like or sparse matrix
        The matrix, as in `multiply`.
    """

    def __init__(self, A: Any) -> None:
        super().__init__()
        self.A = aslinearoperator(A)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return A x."""
        return multiply(self.A, x)

    def extra_repr(self) -> str:
        """Return the representation of the operator."""
        return repr(self.A)


def _drawn_seed() -> int:
    """Returns a seed from PyTorch's generator, which torch.manual_seed controls."""
    return int(torch.randint(2**63 - 1, ()))


class _FirstDerivative(torch.autograd.Function):
    """Returns the first tensors unchanged; raises an error if they are differentiated."""

    @staticmethod
    def forward(ctx: Any, count: int, *tensors: Any) -> Any:
        return tuple(tensor.view_as(tensor) for tensor in tensors[:count])

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        raise NotAvailable("Attention: the layers have first derivatives only, no second ones")


class _AttentionFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, layer: Any, settings: dict[str, Any], x: Any, *parameters: Any) -> Any:
        y = torch.empty((*x.shape[:-1], layer.width_out), dtype=x.dtype)
        samples = layer.forward(
            x.numpy(force=True), y.numpy(), [p.numpy(force=True) for p in parameters], **settings
        )
        auxiliary = torch.tensor(samples.auxiliary, dtype=x.dtype)
        if not settings["auxiliary"]:
            ctx.mark_non_differentiable(auxiliary)
        if settings["keep"]:
            ctx.layer, ctx.samples = layer, samples
            ctx.save_for_backward(x, *parameters)
        return y, auxiliary

    @staticmethod
    def backward(ctx: Any, *d_outputs: Any) -> Any:
        x, *parameters = ctx.saved_tensors
        dx = torch.empty_like(x)
        gradients = ctx.layer.backward(
            ctx.samples,
            x.numpy(force=True),
            [p.numpy(force=True) for p in parameters],
            d_outputs[0].contiguous().numpy(force=True),
            dx.numpy(),
            float(d_outputs[1]),
        )
        found = [dx, *(torch.from_numpy(gradient) for gradient in gradients)]
        if torch.is_grad_enabled():
            found = _FirstDerivative.apply(len(found), *found, x, *parameters, *d_outputs)
        wanted = ctx.needs_input_grad[2:]
        return (None, None, *(g if w else None for g, w in zip(found, wanted, strict=True)))


class Attention(nn.Module):
    """An attention layer with one of the library's mechanisms and its projections.

    Parameters and results are those of the layers of `matapprox attention`: `query.weight` is
    width x width and multiplies from the right, `query.bias` is 1 x width, and so on.

    Parameters
    ----------
    mechanism : str, default="softmax"
        One of `mechanisms()`.
    width : int
        Number of features per token.
    heads : int, default=1
        Number of heads, a divisor of the width.
    length : int
        Largest number of tokens of a sample.
    causal : bool, default=False
        Let a token depend only on itself and earlier ones; rejected by mechanisms that cannot.
    dropout : float, default=0.0
        Share of the attention probabilities that are dropped in training mode, at random as set by
        `torch.manual_seed`; rejected by mechanisms that form no probabilities.
    seed : int, default=1
        Seed of patterns that are neither trained nor in the state (random blocks of BigBird).
    dtype : torch.dtype, optional
        torch.float32 or torch.float64, the type of the parameters; by default PyTorch's.
    **options
        Options of the mechanism, as listed by `mechanisms()`.

    Raises
    ------
    InvalidArgument
        There is no such mechanism, or it rejects a value.
    TypeError
        The mechanism has no such option.
    NotAvailable
        The package was built without attention layers.
    """

    def __init__(
        self,
        mechanism: str = "softmax",
        *,
        width: int,
        length: int,
        heads: int = 1,
        causal: bool = False,
        dropout: float = 0.0,
        seed: int = 1,
        dtype: torch.dtype | None = None,
        **options: Any,
    ) -> None:
        super().__init__()
        from ._layers import AttentionLayer

        if dtype is None:
            dtype = torch.get_default_dtype()
        if dtype not in _FLOATS:
            raise InvalidArgument(
                f"Attention: dtype {dtype}; supported are torch.float32 and torch.float64"
            )
        self.mechanism = mechanism
        self.options = options
        self._layer = AttentionLayer(
            mechanism,
            options,
            width=width,
            heads=heads,
            length=length,
            causal=causal,
            dropout=dropout,
            seed=seed,
        )
        self.width, self.width_out = int(width), self._layer.width_out
        self.heads, self.length = int(heads), int(length)
        self.causal, self.dropout = bool(causal), float(dropout)
        for parameter, values in zip(self._layer.parameters, self._drawn(dtype), strict=True):
            *path, name = parameter.name.split(".")
            owner: nn.Module = self
            for part in path:
                if part not in owner._modules:
                    owner.add_module(part, nn.Module())
                owner = owner.get_submodule(part)
            owner.register_parameter(name, nn.Parameter(values, requires_grad=parameter.trained))

    def _drawn(self, dtype: torch.dtype) -> list[torch.Tensor]:
        kind = np.float32 if dtype == torch.float32 else np.float64
        values = self._layer.initial_values(_drawn_seed(), kind)
        return [torch.from_numpy(value) for value in values]

    def _given(self) -> list[Any]:
        """Returns the parameters in the layer's order, also if they have been substituted."""
        return [_operator.attrgetter(p.name)(self) for p in self._layer.parameters]

    def reset_parameters(self) -> None:
        """Draw the parameters again at random, as set by `torch.manual_seed`."""
        with torch.no_grad():
            for parameter, values in zip(self._given(), self._drawn(torch.float64), strict=True):
                parameter.copy_(values)

    def forward(
        self,
        x: torch.Tensor,
        mask: torch.Tensor | None = None,
        *,
        auxiliary_loss: bool = False,
    ) -> Any:
        """Apply the layer.

        Parameters
        ----------
        x : tensor of shape (batch, length, width) or (length, width)
            Tokens, in the type of the parameters, on the CPU.
        mask : tensor of bool, of shape (batch, length) or (length,), optional
            True for a token, False for padding, which has no influence on tokens.
        auxiliary_loss : bool, default=False
            Also return the mean over the batch of the mechanism's term of the loss
            (Singularformer; 0 for the others).

        Returns
        -------
        tensor of shape (batch, length, width_out) or (length, width_out)
            If `auxiliary_loss`, a tuple of this tensor and a tensor without dimensions.
        """
        return _uncompiled_mix(self, x, mask, auxiliary_loss)

    def _mix(self, x: Any, mask: Any, auxiliary_loss: bool) -> Any:
        _check("Attention", "x", x)
        if x.ndim not in (2, 3) or x.shape[-1] != self.width:
            raise InvalidArgument(
                f"Attention: x of shape {tuple(x.shape)} is neither (batch, length, {self.width}) "
                f"nor (length, {self.width})"
            )
        parameters = [p.contiguous() for p in self._given()]
        for parameter, value in zip(self._layer.parameters, parameters, strict=True):
            _check("Attention", parameter.name, value)
            if value.dtype != x.dtype:
                raise InvalidArgument(
                    f"Attention: x is {x.dtype}, but the parameter {parameter.name} is "
                    f"{value.dtype}"
                )
        if mask is not None:
            if not isinstance(mask, torch.Tensor) or mask.dtype != torch.bool:
                raise InvalidArgument("Attention: mask must be a tensor of torch.bool")
            if mask.device.type != "cpu" or mask.shape != x.shape[:-1]:
                raise InvalidArgument(
                    f"Attention: mask has shape {tuple(mask.shape)} on {mask.device}; shape "
                    f"{tuple(x.shape[:-1])} on the CPU is needed"
                )
        batch = x if x.ndim == 3 else x.unsqueeze(0)
        drops = self.training and self.dropout > 0
        settings = {
            "mask": None if mask is None else mask.reshape(batch.shape[:-1]).numpy(),
            "training": drops,
            "seed": _drawn_seed() if drops else 1,
            "auxiliary": bool(auxiliary_loss),
            "keep": torch.is_grad_enabled()
            and (x.requires_grad or any(p.requires_grad for p in parameters)),
        }
        y, auxiliary = _AttentionFunction.apply(
            self._layer, settings, batch.contiguous(), *parameters
        )
        y = y if x.ndim == 3 else y.squeeze(0)
        return (y, auxiliary) if auxiliary_loss else y

    def extra_repr(self) -> str:
        """Return the mechanism and the sizes."""
        options = "".join(f", {name}={value!r}" for name, value in self.options.items())
        return (
            f"{self.mechanism!r}, width={self.width}, heads={self.heads}, length={self.length}, "
            f"causal={self.causal}, dropout={self.dropout:g}{options}"
        )


_uncompiled_mix = _Uncompiled(Attention._mix)


def mechanisms() -> dict[str, str]:
    """Return the description of each mechanism of `Attention`, with its options."""
    from ._layers import documentation

    return documentation()
