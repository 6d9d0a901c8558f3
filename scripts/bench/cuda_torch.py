#!/usr/bin/env python3
"""A training step of PSF-Attn in PyTorch on a GPU, for the table of scripts/cuda: the Adding configuration of [KYCY22].

    cuda_torch.py [--length 16384] [--batch 40] [--runs 20] [--float32-matmul highest] [--small]

Two kinds of step (forward, backward and Adam) with the batch on the GPU: the Chord product as a gather with an index
array, as in public code, and scaled_dot_product_attention (one head of width 8, whose kernel PyTorch chooses) in place of
the whole chain. Medians of runs after three warm-up runs, by events; peak memory of the GPU. Both networks have the same
embedding and head. Without torch or a GPU, prints the reason and exits with status 77.
"""
import argparse
import statistics
import sys

WIDTH, VALUE, HIDDEN, WARM_UPS = 32, 8, 32, 3


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def make_models(torch, length):
    factors = length.bit_length() - 1
    offsets = torch.tensor([0] + [1 << k for k in range(factors)])
    places = (torch.arange(length)[:, None] + offsets) % length

    def network(out):
        return torch.nn.Sequential(torch.nn.Linear(WIDTH, HIDDEN), torch.nn.GELU(), torch.nn.Linear(HIDDEN, out))

    class Outside(torch.nn.Module):
        """Embedding and head around a core that maps WIDTH columns to VALUE columns."""

        def __init__(self, core):
            super().__init__()
            self.embedding = torch.nn.Linear(2, WIDTH)
            self.core = core
            self.head = torch.nn.Linear(length * VALUE, 1)

        def forward(self, x):
            return self.head(self.core(self.embedding(x)).flatten(1))

    class Psf(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.g = network(VALUE)
            self.fs = torch.nn.ModuleList([network(len(offsets)) for _ in range(factors)])
            self.register_buffer("places", places)

        def forward(self, x):
            first = V = self.g(x)
            for f in self.fs:
                # The gather creates batch x N x links x columns numbers.
                V = (f(x)[..., None] * V[:, self.places]).sum(2) + first
            return V

    class Softmax(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.project = torch.nn.Linear(WIDTH, 3 * VALUE)

        def forward(self, x):
            q, k, v = (part[:, None] for part in self.project(x).split(VALUE, -1))
            return torch.nn.functional.scaled_dot_product_attention(q, k, v)[:, 0]

    return {"PSF-Attn, Chord product by gather": lambda: Outside(Psf()),
            "scaled_dot_product_attention": lambda: Outside(Softmax())}


def measure(torch, model, length, batch, runs):
    """Returns the median milliseconds per step, and peak GB of the GPU."""
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    x = torch.rand(batch, length, 2, device="cuda")
    y = torch.rand(batch, 1, device="cuda")
    torch.cuda.reset_peak_memory_stats()
    times = []
    for run in range(WARM_UPS + runs):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        optimizer.zero_grad()
        ((model(x) - y) ** 2).mean().backward()
        optimizer.step()
        end.record()
        torch.cuda.synchronize()
        if run >= WARM_UPS:
            times.append(begin.elapsed_time(end))
    return statistics.median(times), torch.cuda.max_memory_allocated() / 1e9


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--length", type=int, default=16384, help="a power of two")
    parser.add_argument("--batch", type=int, default=40)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--float32-matmul", default="highest", help="highest: no TF32, as here; high: with it")
    parser.add_argument("--small", action="store_true", help="tiny sizes, for a quick test")
    options = parser.parse_args()
    if options.small:
        options.length, options.batch, options.runs = 64, 2, 1
    try:
        import torch
    except ImportError:
        skip("this Python has no torch")
    if not torch.cuda.is_available():
        skip("torch sees no GPU")
    torch.manual_seed(1)
    torch.set_float32_matmul_precision(options.float32_matmul)
    print(f"torch {torch.__version__}, {torch.cuda.get_device_name()}, N = {options.length}, batch {options.batch}, float")
    for name, make in make_models(torch, options.length).items():
        try:
            model = make().to("cuda")
            milliseconds, gigabytes = measure(torch, model, options.length, options.batch, options.runs)
            parameters = sum(each.numel() for each in model.parameters())
            print(f"{name:36s} {milliseconds:9.2f} ms a step  {gigabytes:6.2f} GB  {parameters} parameters", flush=True)
        except torch.cuda.OutOfMemoryError:
            print(f"{name:36s} out of GPU memory", flush=True)
        model = None
        torch.cuda.empty_cache()


main()
