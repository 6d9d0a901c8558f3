from typing import Any

from numpy import bool_, float32, float64, uint8
from numpy.typing import NDArray

_Option = tuple[str, str, str, list[str], str]
_Floats = NDArray[float32] | NDArray[float64]

def set_threads(count: int, /) -> None: ...
def end() -> None: ...
def forget_other_threads() -> None: ...
def mechanisms() -> list[tuple[str, str, list[_Option]]]: ...

class SingleSamples:
    @property
    def auxiliary(self) -> float: ...
    def backward(
        self,
        X: Any,
        parameters: list[Any],
        dY: Any,
        auxiliary_weight: float,
        dX: Any,
        gradient: Any,
        /,
    ) -> None: ...

class DoubleSamples(SingleSamples): ...

class Layer:
    def __init__(
        self,
        mechanism: str,
        options: list[tuple[str, str]],
        width: int,
        heads: int,
        length: int,
        causal: bool,
        seed: int,
        dropout: float,
        /,
    ) -> None: ...
    @property
    def parameters(self) -> list[tuple[str, int, int, bool]]: ...
    @property
    def width_out(self) -> int: ...
    @property
    def remark(self) -> str: ...
    def initial_values(self, seed: int, /) -> NDArray[float64]: ...
    def forward(
        self,
        X: _Floats,
        Y: _Floats,
        parameters: list[Any],
        mask: NDArray[uint8] | NDArray[bool_] | None,
        training: bool,
        seed: int,
        auxiliary: bool,
        keep: bool,
        /,
    ) -> SingleSamples | DoubleSamples: ...
