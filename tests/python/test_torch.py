"""Gradients through operators, and attention as modules; skipped without PyTorch."""

import copy
import io
import pickle
import shutil
import subprocess
import sys
import threading

import numpy as np
import pytest
import scipy.sparse as sp
from small_layers import LENGTH, ONE_HEAD, OPTIONS, WIDTH

import matapprox as ma

torch = pytest.importorskip("torch", reason="there is no PyTorch")
mt = pytest.importorskip("matapprox.torch")
layers = pytest.importorskip("matapprox._layers", exc_type=ma.NotAvailable)

from torch.autograd import gradcheck, gradgradcheck  # noqa: E402
from torch.nn.functional import scaled_dot_product_attention  # noqa: E402

# PyTorch's own warnings, about functions that it calls itself.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.torch.jit:FutureWarning"),
    # A warning of torch.compile about any tensor with a gradient from outside its graphs.
    pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf"),
]


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(3)


def operators():
    rng = np.random.default_rng(2)
    A = rng.standard_normal((9, 6))
    P = rng.standard_normal((6, 2))
    return {
        "array": ma.aslinearoperator(A),
        "transposed": ma.aslinearoperator(A.T).T,
        "sparse": ma.aslinearoperator(sp.random(9, 6, 0.4, random_state=1)),
        "kernel": ma.kernel(P, bandwidth=1.5),
        "approximation": ma.truncated_svd(A, 3),
        "nystrom": ma.nystrom(P @ P.T + np.eye(6), 4),
        "foreign": ma.aslinearoperator(sp.linalg.aslinearoperator(A)),
    }


OPERATORS = operators()


def attention(mechanism="softmax", heads=2, dtype=torch.float64, **changes):
    return mt.Attention(
        mechanism,
        **{
            "width": WIDTH,
            "heads": 1 if mechanism in ONE_HEAD else heads,
            "length": LENGTH,
            "dtype": dtype,
            **OPTIONS.get(mechanism, {}),
            **changes,
        },
    )


# Operators


@pytest.mark.parametrize("shape", [(6,), (6, 1), (6, 4), (3, 6, 2), (2, 0, 6, 2), (2, 3, 6, 1)])
@pytest.mark.parametrize("name", OPERATORS)
def test_products(name, shape):
    A = OPERATORS[name]
    dense = torch.from_numpy(np.array(A.toarray()))
    x = torch.randn(shape, dtype=torch.float64)
    torch.testing.assert_close(mt.multiply(A, x), dense @ x, rtol=1e-12, atol=1e-13)
    torch.testing.assert_close(
        mt.multiply(A, x.float()), (dense @ x.float().double()).float(), rtol=0, atol=1e-6
    )
    assert mt.multiply(A, x.float()).dtype == torch.float32
    # Views: every other column, and equal columns without copies.
    if len(shape) > 1:
        wide = torch.randn((*shape[:-1], 6), dtype=torch.float64)[..., ::2]
        torch.testing.assert_close(mt.multiply(A, wide), dense @ wide, rtol=1e-12, atol=1e-13)
        same = x[..., :1].expand(*shape[:-1], 5)
        torch.testing.assert_close(mt.multiply(A, same), dense @ same, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", OPERATORS)
def test_gradients_of_products(name):
    A = OPERATORS[name]

    def product(x):
        return mt.multiply(A, x)

    for shape in ((6,), (6, 3), (2, 6, 2)):
        x = torch.randn(shape, dtype=torch.float64, requires_grad=True)
        assert gradcheck(product, x, check_forward_ad=True)
        assert gradgradcheck(product, x)


def test_derivatives_of_higher_order_and_of_functions():
    A = OPERATORS["array"]
    dense = torch.from_numpy(np.array(A.toarray()))

    def value(x):
        return (mt.multiply(A, x) ** 3).sum()

    x = torch.randn(6, dtype=torch.float64)
    expected = dense.T @ torch.diag(6 * (dense @ x)) @ dense
    for hessian in (
        torch.autograd.functional.hessian(value, x),
        torch.func.jacrev(torch.func.grad(value))(x),
        torch.func.jacfwd(torch.func.grad(value))(x),
        torch.func.hessian(value)(x),
    ):
        torch.testing.assert_close(hessian, expected, rtol=1e-11, atol=1e-11)
    X = torch.randn(6, 5, dtype=torch.float64)
    for dims in (0, 1):
        batch = X.T if dims == 0 else X
        found = torch.func.vmap(lambda v: mt.multiply(A, v), in_dims=dims)(batch)
        torch.testing.assert_close(found, (dense @ X).T, rtol=1e-12, atol=1e-12)
    X = torch.randn(4, 6, 2, dtype=torch.float64)
    found = torch.func.vmap(lambda V: mt.multiply(A, V), in_dims=1)(X.movedim(0, 1))
    torch.testing.assert_close(found, dense @ X, rtol=1e-12, atol=1e-12)


def test_float32_has_float32_gradients():
    x = torch.randn(6, 3, requires_grad=True)
    y = mt.multiply(OPERATORS["array"], x)
    y.square().sum().backward()
    assert x.grad.dtype == torch.float32
    dense = torch.from_numpy(np.array(OPERATORS["array"].toarray()))
    expected = 2 * dense.T @ (dense @ x.detach().double())
    torch.testing.assert_close(x.grad.double(), expected, rtol=1e-5, atol=1e-5)


def test_an_operator_as_a_module():
    A = OPERATORS["approximation"]
    model = torch.nn.Sequential(mt.Operator(A.T), torch.nn.Linear(3, 2, dtype=torch.float64))
    x = torch.randn(9, 3, dtype=torch.float64)
    y = model(x)
    y.sum().backward()
    assert set(model.state_dict()) == {"1.weight", "1.bias"}
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        torch.testing.assert_close(other(x), y, rtol=0, atol=0)
    assert "6 x 9" in repr(model)


def test_an_operator_without_a_transpose_has_no_gradient():
    class Products:
        shape = (4, 4)

        def matmat(self, X):
            return 2 * X

    x = torch.ones(4, dtype=torch.float64, requires_grad=True)
    y = mt.multiply(Products(), x)
    torch.testing.assert_close(y, 2 * x)
    with pytest.raises(ma.InvalidArgument, match="neither rmatmat nor T"):
        y.sum().backward()


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (np.ones(6), "x is a ndarray, not a tensor"),
        (torch.ones(6, dtype=torch.int64), "x is torch.int64; supported are torch.float32"),
        (torch.ones(6, dtype=torch.bfloat16), "x is torch.bfloat16"),
        (torch.ones(6, dtype=torch.complex128), "x is torch.complex128"),
        (torch.ones(6, device="meta"), "x is on meta; matapprox.torch computes on the CPU"),
        (torch.ones(6, 2).to_sparse(), "x is torch.sparse_coo"),
        (torch.ones(5), r"x of shape \(5,\) does not fit an operator that is 9 x 6"),
        (torch.ones(6, 5, 6), r"x of shape \(6, 5, 6\) does not fit"),
        (torch.tensor(1.0), r"x of shape \(\) does not fit"),
    ],
)
def test_tensors_that_are_refused(x, message):
    with pytest.raises(ma.InvalidArgument, match=message):
        mt.multiply(OPERATORS["array"], x)


# Attention


def test_softmax_agrees_with_pytorch():
    for causal in (False, True):
        module = attention(causal=causal)
        x = torch.randn(3, LENGTH, WIDTH, dtype=torch.float64, requires_grad=True)
        kept = torch.rand(3, LENGTH) < 0.6
        kept[:, 0] = True
        for mask in (None, kept):
            P = dict(module.named_parameters())
            Q, K, V = (
                (x @ P[f"{name}.weight"] + P[f"{name}.bias"]).unflatten(-1, (2, -1)).transpose(1, 2)
                for name in ("query", "key", "value")
            )
            allowed = torch.ones(LENGTH, LENGTH, dtype=torch.bool)
            if causal:
                allowed = allowed.tril()
            if mask is not None:
                allowed = allowed & mask[:, None, None, :]
            H = scaled_dot_product_attention(Q, K, V, attn_mask=allowed)
            expected = H.transpose(1, 2).flatten(-2) @ P["output.weight"] + P["output.bias"]
            weights = torch.randn_like(expected)
            if mask is not None:
                weights = weights * mask[:, :, None]
            arrays = [x, *module.parameters()]
            found = module(x, mask)
            rows = slice(None) if mask is None else mask
            torch.testing.assert_close(found[rows], expected[rows], rtol=1e-11, atol=1e-12)
            for a, b in zip(
                torch.autograd.grad((found * weights).sum(), arrays),
                torch.autograd.grad((expected * weights).sum(), arrays),
                strict=True,
            ):
                torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("mechanism", layers.MECHANISMS)
def test_gradients_of_attention(mechanism):
    module = attention(mechanism)
    names = [name for name, p in module.named_parameters() if p.requires_grad]
    x = torch.randn(2, LENGTH - 2, WIDTH, dtype=torch.float64, requires_grad=True)

    def apply(x, *parameters):
        return torch.func.functional_call(
            module, dict(zip(names, parameters, strict=True)), (x,), {"auxiliary_loss": True}
        )

    with torch.no_grad():
        for p in module.parameters():
            p += 0.3 * torch.randn_like(p)
    given = [p for p in module.parameters() if p.requires_grad]
    assert gradcheck(lambda *arrays: apply(*arrays)[0], (x, *given))
    if mechanism == "singularformer":
        assert gradcheck(apply, (x, *given))


def test_second_derivatives_of_attention_are_refused():
    module = attention()
    x = torch.randn(1, LENGTH, WIDTH, dtype=torch.float64, requires_grad=True)
    for scale in (1, 1.0 * x.detach().requires_grad_()):
        y = (module(x) * scale).sum()
        (gradient,) = torch.autograd.grad(y, x, create_graph=True)
        assert torch.equal(gradient, torch.autograd.grad(y, x)[0])
        with pytest.raises(ma.NotAvailable, match="first derivatives only"):
            (y + gradient.sum()).backward()


def test_transforms_of_functions_are_refused_for_attention():
    module = attention()
    x = torch.randn(2, LENGTH, WIDTH, dtype=torch.float64)
    for transform in (torch.func.vmap(module), torch.func.grad(lambda x: module(x).sum())):
        with pytest.raises(RuntimeError, match="functorch transforms"):
            transform(x)


def test_state_goes_out_and_in(tmp_path):
    module, other = attention("linformer"), attention("linformer")
    x = torch.randn(2, LENGTH, WIDTH, dtype=torch.float64)
    assert not torch.equal(other(x), module(x))
    names = [
        p.name
        for p in layers.AttentionLayer(
            "linformer",
            {"rank": 3},
            width=WIDTH,
            heads=2,
            length=LENGTH,
            causal=False,
            dropout=0.0,
            seed=1,
        ).parameters
    ]
    assert list(module.state_dict()) == names
    file = io.BytesIO()
    torch.save(module.state_dict(), file)
    file.seek(0)
    other.load_state_dict(torch.load(file, weights_only=True))
    assert torch.equal(other(x), module(x))
    for again in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert torch.equal(again(x), module(x))
        with torch.no_grad():
            again.query.weight.zero_()
        assert not torch.equal(again(x), module(x))
    with pytest.raises(RuntimeError, match="Missing key"):
        other.load_state_dict(attention("simpletron").state_dict())


def test_what_is_not_trained_is_in_the_state():
    module = attention("performer")
    assert not module.omega.requires_grad
    assert "omega" in module.state_dict()
    module(torch.randn(1, LENGTH, WIDTH, dtype=torch.float64)).sum().backward()
    assert module.omega.grad is None
    assert module.query.weight.grad is not None


def test_types_and_shapes():
    module = attention(dtype=None)
    assert module.query.weight.dtype == torch.float32
    x = torch.randn(LENGTH, WIDTH)
    one = module(x)
    assert one.shape == x.shape
    assert one.dtype == torch.float32
    torch.testing.assert_close(module(x.expand(2, LENGTH, WIDTH))[1], one, rtol=0, atol=0)
    double = copy.deepcopy(module).double()
    torch.testing.assert_close(double(x.double()).float(), one, rtol=1e-4, atol=1e-5)
    # Views of other arrays are copied; parameters that were moved are assembled again.
    X = torch.randn(WIDTH, 3, LENGTH).permute(1, 2, 0)
    torch.testing.assert_close(module(X), module(X.contiguous()), rtol=0, atol=0)
    narrow = attention("psf", value_width=3)
    assert narrow.width_out == 3
    assert narrow(x.double()).shape == (LENGTH, 3)
    assert module(torch.empty(0, LENGTH, WIDTH)).shape == (0, LENGTH, WIDTH)


def test_nothing_is_copied_that_is_in_one_piece():
    module = attention()
    places = [p.data_ptr() for p in module.parameters()]
    sizes = [8 * p.numel() for p in module.parameters()]
    assert places == [places[0] + sum(sizes[:i]) for i in range(len(sizes))]
    x = torch.randn(4, LENGTH, WIDTH, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.Adam(module.parameters())
    module(x).square().sum().backward()
    optimizer.step()
    module.load_state_dict(attention().state_dict())
    module.reset_parameters()
    assert [p.data_ptr() for p in module.parameters()] == places


def test_seeds():
    torch.manual_seed(5)
    first = attention(dropout=0.5)
    x = torch.randn(2, LENGTH, WIDTH, dtype=torch.float64)
    a = first(x)
    torch.manual_seed(5)
    second = attention(dropout=0.5)
    assert torch.equal(second.query.weight, first.query.weight)
    assert torch.equal(second(torch.randn(2, LENGTH, WIDTH, dtype=torch.float64)), a)
    b = first(x)
    assert not torch.equal(a, b)
    first.eval()
    assert torch.equal(first(x), first(x))
    first.train()
    y = torch.utils.checkpoint.checkpoint(first, x.requires_grad_(), use_reentrant=False)
    y.sum().backward()
    before = first.query.weight.clone()
    first.reset_parameters()
    assert not torch.equal(first.query.weight, before)


def test_a_graph_that_is_kept_and_what_changes_meanwhile():
    module = attention("flash")
    x = torch.randn(3, LENGTH, WIDTH, dtype=torch.float64, requires_grad=True)
    y = module(x).square().sum()
    first = torch.autograd.grad(y, [x, *module.parameters()], retain_graph=True)
    again = torch.autograd.grad(y, [x, *module.parameters()], retain_graph=True)
    for a, b in zip(first, again, strict=True):
        assert torch.equal(a, b)
    with torch.no_grad():
        module.scales.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()
    with torch.no_grad():
        assert not module(x).requires_grad
    for p in module.parameters():
        p.requires_grad_(False)
    (gradient,) = torch.autograd.grad(module(x).sum(), x)
    assert gradient.shape == x.shape
    assert not module(x.detach()).requires_grad


def test_training_lowers_the_loss():
    torch.manual_seed(0)
    model = torch.nn.Sequential(attention(dtype=torch.float32), torch.nn.Linear(WIDTH, 1))
    x = torch.randn(64, LENGTH, WIDTH)
    target = x[:, :, :1].mean(dim=1, keepdim=True).expand(-1, LENGTH, -1)
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    losses = []
    for _ in range(150):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), target)
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < 0.1 * losses[0]


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (np.ones((1, LENGTH, WIDTH)), "x is a ndarray"),
        (torch.ones(1, LENGTH, WIDTH, device="meta"), "x is on meta"),
        (
            torch.ones(1, LENGTH, WIDTH),
            r"x is torch.float32, the parameter \w+.weight torch.float64",
        ),
        (torch.ones(1, LENGTH, WIDTH, dtype=torch.float16), "x is torch.float16"),
        (torch.ones(1, 1, LENGTH, WIDTH).double(), r"neither \(batch, length, 8\) nor"),
        (torch.ones(LENGTH, WIDTH + 1).double(), r"neither \(batch, length, 8\) nor"),
        (torch.ones(LENGTH + 1, WIDTH).double(), "8 tokens|7"),
    ],
)
def test_samples_that_are_refused(x, message):
    with pytest.raises(ma.InvalidArgument, match=message):
        attention()(x)


def test_modules_that_are_refused():
    x = torch.ones(2, LENGTH, WIDTH).double()
    for mask in (torch.ones(2, LENGTH), np.ones((2, LENGTH), bool), torch.ones(2, 3).bool()):
        with pytest.raises(ma.InvalidArgument, match="mask"):
            attention()(x, mask)
    with pytest.raises(ma.InvalidArgument, match=r"did you mean 'softmax'"):
        attention("sofmax")
    with pytest.raises(TypeError, match="'rnk'"):
        attention("linformer", rnk=3)
    with pytest.raises(ma.InvalidArgument, match=r"torch.float16; supported are torch.float32"):
        attention(dtype=torch.float16)
    with pytest.raises(ma.InvalidArgument, match=r"weight is torch.bfloat16"):
        attention().to(torch.bfloat16)(x)
    with pytest.raises(ma.InvalidArgument, match=r"weight is on meta"):
        attention().to("meta")(x)


def test_mechanisms_are_described():
    found = mt.mechanisms()
    assert list(found)[:2] == ["softmax", "psf"]
    assert "rank : int" in found["linformer"]
    own = {"width", "heads", "length", "causal", "dropout", "seed", "dtype", "mechanism"}
    for _, options in layers.MECHANISMS.values():
        assert not own & {option[0] for option in options}
    assert "rank=3" in repr(attention("linformer"))


# torch.compile


class Block(torch.nn.Module):
    """Operations that PyTorch compiles around operations that it does not compile."""

    def __init__(self, mechanism, **options):
        super().__init__()
        self.attention = attention(mechanism, **options)
        self.norm = torch.nn.LayerNorm(WIDTH, dtype=torch.float64)
        self.operator = mt.Operator(np.random.default_rng(5).standard_normal((4, WIDTH)))

    def forward(self, x, mask=None):
        y = torch.relu(self.norm(x + self.attention(x, mask)))
        return self.operator(y.transpose(-1, -2)).tanh()


@pytest.fixture
def dynamo():
    dynamo = pytest.importorskip("torch._dynamo")
    dynamo.reset()
    yield dynamo
    dynamo.reset()


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_a_compiled_model_is_the_model(backend, dynamo):
    if backend == "inductor" and shutil.which("g++") is None:
        pytest.skip("there is no g++")
    for mechanism in ("softmax", "linformer"):
        model = Block(mechanism)
        compiled = torch.compile(model, backend=backend)
        for shape in [(2, LENGTH), (3, LENGTH - 2), (LENGTH - 1,), (2, LENGTH)]:
            x = torch.randn(*shape, WIDTH, dtype=torch.float64, requires_grad=True)
            for mask in (None, torch.arange(shape[-1]).expand(shape) < 4):
                arrays = [x, *model.parameters()]
                expected, found = model(x, mask), compiled(x, mask)
                torch.testing.assert_close(found, expected, rtol=1e-11, atol=1e-12)
                for a, b in zip(
                    torch.autograd.grad(found.square().sum(), arrays),
                    torch.autograd.grad(expected.square().sum(), arrays),
                    strict=True,
                ):
                    torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-11)
                with torch.no_grad():
                    torch.testing.assert_close(compiled(x, mask), expected, rtol=1e-11, atol=1e-12)


def test_a_compiled_model_drops_anew_with_each_call(dynamo):
    model = Block("softmax", dropout=0.5)
    compiled = torch.compile(model, backend="aot_eager")
    x = torch.randn(2, LENGTH, WIDTH, dtype=torch.float64)
    drops = [compiled(x) for _ in range(3)]
    assert not torch.equal(drops[0], drops[1])
    assert not torch.equal(drops[1], drops[2])
    model.eval()
    torch.testing.assert_close(compiled(x), model(x), rtol=1e-11, atol=1e-12)


def test_one_graph_of_a_whole_model_is_refused(dynamo):
    x = torch.randn(2, LENGTH, WIDTH, dtype=torch.float64)
    with pytest.raises(dynamo.exc.Unsupported):
        torch.compile(Block("softmax"), backend="eager", fullgraph=True)(x)


# Combination with other runtimes


def test_several_threads_get_the_same_bits():
    A = OPERATORS["approximation"]
    module = attention("softmax")
    x = torch.randn(20, LENGTH, WIDTH, dtype=torch.float64)

    def work():
        own = x.clone().requires_grad_()
        y = module(own)
        v = torch.ones(6, dtype=torch.float64, requires_grad=True)
        w = mt.multiply(A, v)
        return [
            y,
            *torch.autograd.grad(y.square().sum(), [own, *module.parameters()]),
            w,
            *torch.autograd.grad(w.square().sum(), v),
        ]

    expected, found = work(), []

    def several():
        for _ in range(5):
            found.append(work())

    workers = [threading.Thread(target=several) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(found) == 20
    for arrays in found:
        assert all(torch.equal(a, b) for a, b in zip(arrays, expected, strict=True))


BESIDE = """
import hashlib, os, sys, threading
{imports}
import numpy as np
import matapprox.torch as mt

rng = np.random.default_rng(0)
S = rng.standard_normal((120, 120))
S = S + S.T
torch.manual_seed(0)
module = mt.Attention("softmax", width=16, heads=2, length=60, dtype=torch.float64)
x = torch.from_numpy(rng.standard_normal((8, 60, 16)))
with h5py.File("in memory", "w", driver="core", backing_store=False) as file:
    file["x"] = x.numpy()

def bits():
    fit = ma.chord(S, adam_steps=20, max_iterations=10).toarray()
    svd = ma.truncated_svd(S, 5)
    own = x.clone().requires_grad_()
    y = module(own)
    gradient, = torch.autograd.grad(y.square().sum(), own)
    z = mt.multiply(svd, torch.ones(120, dtype=torch.float64))
    arrays = [fit, svd.toarray(), y.detach().numpy(), gradient.numpy(), z.numpy()]
    return hashlib.sha256(b"".join(np.ascontiguousarray(a).tobytes() for a in arrays)).hexdigest()

(torch.randn(300, 300) @ torch.randn(300, 300)).sum()  # its threads have begun
expected = bits()
found = []
workers = [threading.Thread(target=lambda: found.append(bits())) for _ in range(4)]
for worker in workers:
    worker.start()
for worker in workers:
    worker.join()
assert found == [expected] * 4
assert "torch._dynamo" not in sys.modules  # it takes a second, and nobody asked for it
child = os.fork()
assert bits() == expected
if child != 0:
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    print(expected)
"""


def test_beside_torch_and_h5py_in_both_orders_of_import():
    pytest.importorskip("h5py")
    others = ["import torch", "import h5py", "import matapprox as ma"]
    found = set()
    for order in (others, others[::-1]):
        code = BESIDE.format(imports="\n".join(order))
        command = [sys.executable, "-W", "ignore", "-c", code]
        run = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert run.returncode == 0, run.stderr
        found.add(run.stdout)
    assert len(found) == 1
