#!/usr/bin/env python3
"""Training steps of one attention layer compared with PyTorch's, one thread: softmax, Linformer, Performer.

    attention_peers.py [--program build/default/bin/matapprox] [--python torchvenv/bin/python] [--lengths 1024,4096]
        [--heads 1,4] [--width 64] [--mechanisms softmax,linformer:rank=64,...] [--instructions AMX,AVX3,AVX2]
        [--rounds 3] [--small] [--json FILE]

A step is the forward and the backward pass of the layer on one sample of N x 64, float32, including the projections to
queries, keys and values and the output projection; the loss is |Y|^2 / 2. Both use the same input and the same weights:
ours writes them to a safetensors file, with its result and gradients, and PyTorch's are compared with those (relative
Frobenius norms of the difference: of Y, and the largest over the gradients of the input and of all parameters; the bias
of the keys is excluded for softmax, where its gradient is zero up to rounding, and so are parameters that are not trained).

--instructions names the instruction sets for ours (MATAPPROX_INSTRUCTIONS); for AVX2, PyTorch and its libraries are
restricted to AVX2 too, otherwise they are not restricted.

CPU seconds, the median of rounds in which all take turns, each in a separate process; the ratio is that of the fastest
PyTorch variant: softmax attention by scaled_dot_product_attention and by explicit matmul and softmax, Linformer and
Performer by matmul, einsum-free, unchanged or under torch.compile with --compile. Peak memory is that of the whole
process, and in parentheses that before the step, with only the input. Needs torch, safetensors for its columns.
"""
import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile

from common import parser, write

MECHANISMS = "softmax,linformer:rank=64,linformer:rank=256,performer"
VARIANTS = {"softmax": ["sdpa", "explicit"], "linformer": ["matmul", "sdpa"], "performer": ["matmul"]}
PEER_ENVIRONMENT = {"AVX2": {"ATEN_CPU_CAPABILITY": "avx2", "MKL_ENABLE_INSTRUCTIONS": "AVX2", "ONEDNN_MAX_CPU_ISA": "AVX2"}}
MIN_SECONDS = 1.0  # shortest time of the timed steps of a process


def peak_mib():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def torch_step(options):
    """Prints the CPU seconds per step, peak MiB and relative differences of this process as JSON."""
    import time

    import torch
    import torch.nn.functional as F
    from safetensors.torch import load_file

    torch.set_num_threads(1)
    name, variant, heads = options.mechanism.split(":")[0], options.variant, int(options.heads)
    tensors = load_file(options.torch_step)
    X = tensors["X"].clone().requires_grad_()
    N, d = X.shape
    p = d // heads
    weight = {part: tensors[f"layer.{part}.weight"] for part in ("query", "key", "value", "output")}
    bias = {part: tensors[f"layer.{part}.bias"] for part in ("query", "key", "value", "output")}
    # One product for queries, keys and values; weights in the layout of torch.nn.Linear, out x in.
    W_in = torch.cat([weight[part].T for part in ("query", "key", "value")]).contiguous().requires_grad_()
    b_in = torch.cat([bias[part].flatten() for part in ("query", "key", "value")]).requires_grad_()
    W_out = weight["output"].T.contiguous().requires_grad_()
    b_out = bias["output"].flatten().clone().requires_grad_()
    leaves = [X, W_in, b_in, W_out, b_out]
    scale = p ** -0.5
    if name == "linformer":
        mix_K = tensors["layer.E"].clone().requires_grad_()
        mix_V = tensors["layer.F"].clone().requires_grad_()
        leaves += [mix_K, mix_V]
    if name == "performer":
        omegas = [n for n in tensors if n.startswith("layer.omega")]
        omega = tensors[omegas[0]] * p ** -0.25

    def projected():
        parts = F.linear(X, W_in, b_in).split(d, 1)
        if name == "linformer":
            parts = parts[0], mix_K @ parts[1], mix_V @ parts[2]
        return [part.view(-1, heads, p).transpose(0, 1) for part in parts]

    def finish(H):
        return F.linear(H.transpose(0, 1).reshape(N, d), W_out, b_out)

    def sdpa():
        Q, K, V = projected()
        return finish(F.scaled_dot_product_attention(Q[None], K[None], V[None])[0])

    def explicit():
        Q, K, V = projected()
        return finish(torch.softmax((Q * scale) @ K.transpose(1, 2), -1) @ V)

    def performer():
        Q, K, V = projected()
        half = 0.5 * p ** -0.5
        E = Q @ omega.T - half * Q.square().sum(-1, keepdim=True)
        G = K @ omega.T - half * K.square().sum(-1, keepdim=True)
        m = omega.shape[0] ** -0.5
        E = (torch.exp(E - E.amax(-1, keepdim=True)) + 1e-4) * m
        G = (torch.exp(G - G.amax((-2, -1), keepdim=True)) + 1e-4) * m
        sums = E @ G.sum(1).unsqueeze(-1) + 1e-6
        return finish(E @ (G.transpose(1, 2) @ V) / sums)

    forward = performer if name == "performer" else {"sdpa": sdpa, "explicit": explicit, "matmul": explicit}[variant]
    if options.compile:
        forward = torch.compile(forward)

    def step():
        for leaf in leaves:
            leaf.grad = None
        Y = forward()
        Y.backward(Y.detach())
        return Y

    before = peak_mib()
    Y = step()
    expected = {"Y": tensors["Y"]}
    actual = {"Y": Y.detach(), "X": X.grad}
    for n, part in enumerate(("query", "key", "value")):
        actual[f"layer.{part}.weight"] = W_in.grad[n * d:(n + 1) * d].T
        actual[f"layer.{part}.bias"] = b_in.grad[n * d:(n + 1) * d].view(1, d)
    actual["layer.output.weight"] = W_out.grad.T
    actual["layer.output.bias"] = b_out.grad.view(1, d)
    if name == "linformer":
        actual["layer.E"], actual["layer.F"] = mix_K.grad, mix_V.grad
    differences = {}
    for key, value in actual.items():
        want = expected["Y"] if key == "Y" else tensors[f"gradient.{key}"]
        if key == "layer.key.bias" and name == "softmax":
            continue
        differences[key] = ((value - want).norm() / want.norm()).item()
    begin = time.process_time()
    count = 0
    while count < 2 or (not options.small and time.process_time() - begin < MIN_SECONDS):
        step()
        count += 1
    print(json.dumps({"version": torch.__version__, "seconds": (time.process_time() - begin) / count,
                      "mib": peak_mib(), "mib_before": before, "result": differences.pop("Y"),
                      "gradient": max(differences.values()), "where": max(differences, key=differences.get)}))


def ours(options, mechanism, length, heads, instructions, tensors=None):
    """Returns CPU seconds per step and peak MiB of a process."""
    command = [options.program, "attention", "bench", "--mechanisms", mechanism, "--lengths", str(length), "--width",
               str(options.width), "--heads", str(heads), "--rounds", "1" if options.small else "15", "--json", "-"]
    if tensors:
        command += ["--tensors", tensors, "--force"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, "MATAPPROX_INSTRUCTIONS": instructions})
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        raise SystemExit(f"{' '.join(command)}: failed")
    return json.loads(output)["rows"][0]["training_seconds"], usage.ru_maxrss / 1024


def peer(options, mechanism, heads, instructions, variant, tensors):
    """Runs torch_step in a separate process and returns its results."""
    command = [options.python, __file__, "--torch-step", tensors, "--mechanism", mechanism, "--variant", variant, "--heads",
               str(heads)] + ["--compile"] * options.compile + ["--small"] * options.small
    done = subprocess.run(command, check=True, capture_output=True, text=True,
                          env={**os.environ, **PEER_ENVIRONMENT.get(instructions, {})})
    return json.loads(done.stdout)


def held(instructions):
    """Returns the instruction set that PyTorch is restricted to with ours, or an empty text."""
    return instructions if instructions in PEER_ENVIRONMENT else ""


def measure(options, mechanism, length, heads, folder):
    """Returns one row per instruction set; sets with the same PyTorch restriction share its times."""
    sets = options.instructions.split(",")
    variants = [] if options.no_torch else VARIANTS[mechanism.split(":")[0]]
    own, peers = {}, {}
    for name in sets:
        ours(options, mechanism, length, heads, name, f"{folder}/{name}.safetensors")
    for _ in range(options.rounds):
        for name in sets:
            own.setdefault(name, []).append(ours(options, mechanism, length, heads, name))
        for key, name in {held(name): name for name in sets}.items():
            for variant in variants:
                found = peer(options, mechanism, heads, name, variant, f"{folder}/{name}.safetensors")
                peers.setdefault(key, {}).setdefault(variant, []).append(found)
    rows = []
    for name in sets:
        row = {"mechanism": mechanism, "length": length, "heads": heads, "instructions": name,
               "seconds": statistics.median(seconds for seconds, _ in own[name]), "mib": own[name][-1][1]}
        if variants:
            runs = peers[held(name)]
            seconds = {v: statistics.median(each["seconds"] for each in found) for v, found in runs.items()}
            best = min(seconds, key=seconds.get)
            found = peer(options, mechanism, heads, name, best, f"{folder}/{name}.safetensors")
            row.update(torch=found["version"], torch_seconds=seconds, torch_mib=found["mib"],
                       torch_mib_before=found["mib_before"], peer=best, ratio=seconds[best] / row["seconds"],
                       difference=found["result"], gradient_difference=found["gradient"], where=found["where"])
        rows.append(row)
    return rows


def main():
    arguments = parser(__doc__, program="matapprox", rounds=3)
    arguments.add_argument("--lengths", default="1024,4096")
    arguments.add_argument("--heads", default="1,4")
    arguments.add_argument("--width", type=int, default=64)
    arguments.add_argument("--mechanisms", default=MECHANISMS)
    arguments.add_argument("--instructions", default="", help="value of MATAPPROX_INSTRUCTIONS; default: the best available")
    arguments.add_argument("--no-torch", action="store_true")
    arguments.add_argument("--compile", action="store_true", help="the PyTorch variants under torch.compile")
    arguments.add_argument("--python", default=sys.executable, help="Python interpreter with torch and safetensors")
    for hidden in ("--torch-step", "--mechanism", "--variant"):
        arguments.add_argument(hidden, help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.torch_step:
        torch_step(options)
        return
    if options.small:
        options.lengths, options.heads, options.rounds = "64", "2", 1
        options.mechanisms = "softmax,linformer:rank=16,performer"
    cases = [(mechanism, int(length), int(heads)) for mechanism in options.mechanisms.split(",")
             for length in options.lengths.split(",") for heads in options.heads.split(",")]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for case in cases:
            found = measure(options, *case, folder)
            print(json.dumps(found), file=sys.stderr, flush=True)
            rows += found
    write(options, {"load_average": os.getloadavg()[0], "rows": rows})


main()
