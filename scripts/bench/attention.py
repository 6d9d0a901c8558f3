#!/usr/bin/env python3
"""Training steps of PSF-Attn compared with PyTorch: the Adding configuration of [KYCY22], batch 40, Adam, one thread.

    attention.py [--program build/default/bin/matapprox] [--lengths 128,1024] [--rounds 3] [--no-torch] [--threads] [--small] [--json FILE]

CPU seconds per step: a run with many steps minus one with few, so that start and end do not count; the median of rounds
in which both take turns. Ours generates its data during training, PyTorch uses one batch made before. Peak memory is that
of the whole process. --threads adds the speed of two threads over one, wall clock, best of the rounds, and the limit of
the machine: the steps of two one-thread programs at once compared with those of one alone. Needs torch only for its
columns; its module is defined here: rolled Chord products with a custom backward pass, which stores only W and V.
"""
import argparse
import json
import math
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

from common import parser, write

STEPS = {128: 200, 1024: 30, 4096: 6, 16384: 2}


def ours(program, length, steps, threads=1):
    """Returns CPU seconds, wall seconds and peak KiB of a training run."""
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "attention", "train", "--task", "adding", "--length", str(length), "--block", "bare",
                   "--value-width", "8", "--pattern", "torch", "--pool", "flatten", "--steps", str(steps),
                   "--evaluate-every", str(steps), "--evaluation-samples", "1", "--test-samples", "1",
                   "--threads", str(threads), "--quiet", "-o", f"{folder}/m.h5"]
        begin = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        if status != 0:
            raise SystemExit(f"{' '.join(command)}: failed")
        return usage.ru_utime + usage.ru_stime, time.perf_counter() - begin, usage.ru_maxrss


def step_seconds(program, length, threads=1, wall=False):
    steps = STEPS.get(length, 2)
    few = ours(program, length, 1, threads)
    many = ours(program, length, 1 + steps, threads)
    which = 1 if wall else 0
    return (many[which] - few[which]) / steps, many[2] / 1024


def pair_seconds(program, length):
    """Returns the wall seconds per step of two programs that run at once, the larger of the two."""
    with ThreadPoolExecutor(2) as pool:
        return max(pool.map(lambda _: step_seconds(program, length, 1, True)[0], range(2)))


def torch_step(length):
    """Prints the CPU seconds per step and peak MiB of this process as JSON."""
    import torch
    torch.set_num_threads(1)
    torch.manual_seed(1)
    factors = int(math.log2(length))
    offsets = [0] + [1 << k for k in range(factors)]

    class Chord(torch.autograd.Function):
        @staticmethod
        def forward(ctx, W, V):
            ctx.save_for_backward(W, V)
            out = W[:, :, :1] * V
            for k, o in enumerate(offsets[1:], 1):
                out += W[:, :, k:k + 1] * torch.roll(V, -o, 1)
            return out

        @staticmethod
        def backward(ctx, G):
            W, V = ctx.saved_tensors
            dW = torch.stack([(G * torch.roll(V, -o, 1)).sum(-1) for o in offsets], -1)
            dV = W[:, :, :1] * G
            for k, o in enumerate(offsets[1:], 1):
                dV += torch.roll(W[:, :, k:k + 1] * G, o, 1)
            return dW, dV

    def network(out):
        return torch.nn.Sequential(torch.nn.Linear(32, 32), torch.nn.GELU(), torch.nn.Linear(32, out))

    class Psf(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = torch.nn.Linear(2, 32)
            self.g = network(8)
            self.fs = torch.nn.ModuleList([network(len(offsets)) for _ in range(factors)])
            self.head = torch.nn.Linear(length * 8, 1)

        def forward(self, x):
            x = self.embedding(x)
            V0 = V = self.g(x)
            for f in self.fs:
                V = Chord.apply(f(x), V) + V0
            return self.head(V.flatten(1))

    model = Psf()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    x, y = torch.rand(40, length, 2), torch.rand(40, 1)

    def step():
        optimizer.zero_grad()
        ((model(x) - y) ** 2).mean().backward()
        optimizer.step()

    step()
    steps = max(1, STEPS.get(length, 2) // 4)
    begin = time.process_time()
    for _ in range(steps):
        step()
    print(json.dumps({"version": torch.__version__, "parameters": sum(p.numel() for p in model.parameters()),
                      "seconds": (time.process_time() - begin) / steps,
                      "mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))


def main():
    arguments = parser(__doc__, program="matapprox", rounds=3)
    arguments.add_argument("--lengths", default="128,1024")
    arguments.add_argument("--no-torch", action="store_true")
    arguments.add_argument("--threads", action="store_true")
    arguments.add_argument("--python", default=sys.executable, help="Python interpreter with torch")
    arguments.add_argument("--torch-step", type=int, help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.torch_step:
        torch_step(options.torch_step)
        return
    if options.small:
        options.lengths, options.rounds = "32", 1
    rows = []
    for length in [int(each) for each in options.lengths.split(",")]:
        own, peers, one, two, pair = [], [], [], [], []
        for _ in range(options.rounds):
            own.append(step_seconds(options.program, length))
            if not options.no_torch:
                done = subprocess.run([options.python, __file__, "--torch-step", str(length)], check=True,
                                      capture_output=True, text=True)
                peers.append(json.loads(done.stdout))
            if options.threads:
                one.append(step_seconds(options.program, length, 1, True)[0])
                two.append(step_seconds(options.program, length, 2, True)[0])
                pair.append(pair_seconds(options.program, length))
        rows.append({"length": length, "seconds": statistics.median(seconds for seconds, _ in own), "mib": own[-1][1],
                     "torch_seconds": statistics.median(peer["seconds"] for peer in peers) if peers else None,
                     "torch_mib": peers[-1]["mib"] if peers else 0, "torch": peers[-1]["version"] if peers else "",
                     "two_threads": min(one) / min(two) if one else None,
                     "two_programs": 2 * min(one) / min(pair) if one else None})
    write(options, {"load_average": os.getloadavg()[0], "rows": rows})


main()
