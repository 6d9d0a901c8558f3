#!/usr/bin/env python3
"""Runs the program on hostile files: wrong, huge, damaged or altered ones, and paths that are not regular files.

    hostile_files.py PROGRAM [--count N] [--seed S] [--only INDEX] [--family NAME] [--keep FOLDER]

For each of N files of hostile_inputs.py one command runs, with at most 4 GB of address space and 20 s of CPU time. It must
end without a signal and with a documented exit code other than 1 (a defect of the program), and state a reason if the code
is not 0. A file below 1 MB may take at most 1 GB of memory. The output must be UTF-8 without control characters, and
neither it nor the written files may contain anything from files outside the folder. Each failure is printed with the command
line that reproduces it.
"""
import argparse
import collections
import ctypes
import itertools
import os
import pathlib
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unicodedata

import h5py
import numpy as np

import hostile_inputs

CPU_SECONDS = 20
WALL_SECONDS = 300  # for a process that waits without computing, on a machine with other work
ADDRESS_SPACE = 4_000_000 * 1024
MEMORY = 10**9
SMALL_FILE = 10**6
MARKER = 271828.1828125  # content of the files that the program must not read
MARKER_TEXTS = ("271828.18", "2.7182818")  # longer than what a million printed numbers contain by chance
# An error, or the note of a run that has a result, but misses its target.
REASON = rb"(^|\n)(matapprox: |the [^\n]* was not [^\n]*; this is the closest result found)"
DOCUMENTED = {0, 2, 3, 4, 5, 130}
BIDIRECTIONAL = {0x202A, 0x202B, 0x202C, 0x202D, 0x202E, 0x2066, 0x2067, 0x2068, 0x2069}
METHODS = ["truncated_svd", "cur", "jl_projection", "exact", "hierarchical", "nystrom"]
KINDS = ["matrix"] * 6 + ["kernel", "covariance", "correlation", "laplacian", "normalized_laplacian", "adjacency", "gradient",
                          "image_laplacian", "inverse"]

Base = collections.namedtuple("Base", "matrix saved weights model projection vector outside")
Run = collections.namedtuple("Run", "arguments code output error memory seconds timed_out")


# ---- Valid files

def checked(program, *arguments):
    made = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, check=False)
    if made.returncode != 0:
        raise RuntimeError(f"{shlex.join(map(str, arguments))}: {made.stderr}")


def make_base(program, folder):
    rng = np.random.default_rng(5)
    A = rng.normal(size=(30, 30))
    A = A + A.T + 40 * np.eye(30)
    A[np.abs(A) < 1] = 0
    matrices = [folder / name for name in ("A.mtx", "A.npy", "A.csv", "A.h5", "A.npz", "A.pgm", "A.mtx.gz", "A.edges")]
    np.save(folder / "A.npy", A)
    np.save(folder / "b.npy", A[0])
    np.savez_compressed(folder / "A.npz", A=A)
    np.savetxt(folder / "A.csv", A, delimiter=",")
    i, j = np.nonzero(A)
    text = f"%%MatrixMarket matrix coordinate real general\n30 30 {len(i)}\n"
    text += "".join(f"{r + 1} {c + 1} {float(A[r, c])!r}\n" for r, c in zip(i, j))
    hostile_inputs.write(folder / "A.mtx", text)
    (folder / "A.mtx.gz").write_bytes(hostile_inputs.gzip.compress(text.encode()))
    hostile_inputs.write(folder / "A.pgm", b"P5 30 30 255\n" + rng.bytes(900))
    hostile_inputs.write(folder / "A.edges", "".join(f"{r} {c} {abs(A[r, c]):g}\n" for r, c in zip(i, j)))
    with h5py.File(folder / "A.h5", "w") as file:
        file.create_dataset("A", data=A, chunks=(8, 8), compression="gzip", fletcher32=True)
    short = ["--effort", "fast", "--starts", "1", "--adam-steps", "20", "--max-iterations", "5", "--newton-steps", "0"]
    fits = {"svd": ["truncated_svd", "--rank", "3"], "cur": ["cur", "--rank", "3"], "jl": ["jl_projection", "--rank", "4"],
            "exact": ["exact"], "blocks": ["hierarchical", "--frobenius-tolerance", "0.1"], "chord": ["chord", *short],
            "packed": ["truncated_svd", "--rank", "3", "--precision", "packed"], "half": ["nystrom", "--rank", "3", "--precision", "float16"],
            "packed_chord": ["chord", *short, "--precision", "packed"]}
    for name, fit in fits.items():
        checked(program, "approximate", folder / "A.mtx", *fit, "-o", folder / f"{name}.h5", "--threads", "1")
    model = folder / "model.h5"
    checked(program, "attention", "train", "--task", "adding", "--length", "8", "--width", "4", "--steps", "1", "--batch", "2",
            "--evaluation-samples", "4", "--test-samples", "4", "-o", model, "--threads", "1")
    checked(program, "attention", "weights", model, "-o", folder / "model.safetensors")
    outside = folder / "outside"
    outside.mkdir()
    numbers = np.full((32, 32), MARKER)
    numbers.tofile(outside / "secret.bin")
    with h5py.File(outside / "secret.h5", "w") as file:
        file["A"] = numbers[:8, :8]
    return Base(matrices, [folder / f"{name}.h5" for name in fits], [folder / "model.safetensors"], [model], folder / "jl.h5",
                folder / "b.npy", outside)


# ---- The command of a file

def matrix_command(rng, path, folder, base):
    """Draws a command that reads the file as a matrix, a block of columns or a right-hand side."""
    saved, out = hostile_inputs.pick(rng, base.saved), folder / "out.h5"
    method = hostile_inputs.pick(rng, METHODS)
    rank = [] if method in ("exact", "hierarchical") else ["--rank", str(int(rng.integers(1, 4)))]
    commands = [["info", path], ["info", path], ["best", path, "--max-seconds", "5"], ["approximate", path, method, "-o", out, *rank],
                ["approximate", path, method, "-o", out, *rank], ["compare", path, "--methods", "truncated_svd,cur,exact"],
                ["measure", saved, path], ["solve", path, base.vector], ["spectrum", path, "--count", "3"]]
    if rng.uniform() < 0.75:
        command = hostile_inputs.pick(rng, commands)
        kind = hostile_inputs.pick(rng, KINDS)
        return command + (["--as", kind] if kind != "matrix" and command[0] != "spectrum" else [])
    return hostile_inputs.pick(rng, [["sketch", path, "-o", out, "--rank", "2"], ["apply", saved, path], ["solve", base.matrix[0], path]])


def saved_command(rng, path, folder, base):
    return hostile_inputs.pick(rng, [
        ["info", path], ["info", path], ["measure", path, base.matrix[0]], ["apply", path, base.vector], ["apply", path, base.vector, "--transpose"],
        ["apply", path, base.matrix[1]], *[["export", path, folder / name] for name in ("x.mat", "x.npz", "x.mtx")],
        ["solve", base.matrix[0], base.vector, "--preconditioner", path], ["compare", path, "--methods", "truncated_svd,exact"],
        ["approximate", path, "truncated_svd", "--rank", "2", "-o", folder / "out.h5"], ["best", path, "--max-seconds", "5"],
        ["approximate", base.matrix[0], "chord", "--warm-start", path, "-o", folder / "out.h5", "--effort", "fast", "--max-iterations", "3",
         "--newton-steps", "0"]])


def training(folder, *more):
    return ["attention", "train", "--task", "adding", "--length", "8", "--width", "4", "--steps", "1", "--batch", "2", "--evaluation-samples", "2",
            "--test-samples", "2", "-o", folder / "out.h5", *more]


def command_of(rng, hostile, folder, base):
    path = hostile.path
    if hostile.kind == "config":
        return training(folder, "--config", path) if rng.uniform() < 0.7 else ["attention", "train", "--config", path, "-o", folder / "out.h5",
                                                                              "--max-seconds", "2"]
    if hostile.kind == "weights":
        return training(folder, "--start-from", path)
    if hostile.kind == "model":
        return hostile_inputs.pick(rng, [["info", path], ["attention", "weights", path, "-o", folder / "w.safetensors"],
                                         ["attention", "evaluate", path, "--samples", "2"], training(folder, "--start-from", path)])
    if hostile.kind == "saved":
        return saved_command(rng, path, folder, base)
    if not hostile.unprivileged and os.path.isfile(path) and rng.uniform() < 0.1:
        return matrix_command(rng, "-", folder, base)
    return matrix_command(rng, path, folder, base)


# ---- Running

def prepare(unprivileged):
    """Returns the function that the child runs before the program starts: it sets the limits and, if asked, drops
    root's capabilities to read every file."""
    libc = ctypes.CDLL(None, use_errno=True)

    def limited():
        resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 2))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if unprivileged:
            for capability in (1, 2):  # CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH
                libc.prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP
    return limited


def run(program, arguments, hostile, folder):
    line = [program, *map(os.fspath, arguments), "--threads", "1", "--force"]
    if arguments[0] == "info" or arguments[:2] == ["attention", "weights"] or arguments[0] == "export":
        line = line[:-3] + (["--force"] if arguments[0] != "info" else [])
    environment = dict(os.environ, OPENBLAS_NUM_THREADS="1", TMPDIR=str(folder))
    source = open(hostile.path, "rb") if "-" in line else subprocess.DEVNULL
    with open(folder / "stdout", "w+b") as output, open(folder / "stderr", "w+b") as error:
        child = subprocess.Popen(line, stdin=source, stdout=output, stderr=error, cwd=folder, env=environment, start_new_session=True,
                                 preexec_fn=prepare(hostile.unprivileged))
        status, usage, timed_out = wait(child, hostile.blocks)
        output.seek(0)
        error.seek(0)
        made = Run(line[1:], os.waitstatus_to_exitcode(status), output.read(), error.read(), usage.ru_maxrss * 1024,
                   usage.ru_utime + usage.ru_stime, timed_out)
    if source is not subprocess.DEVNULL:
        source.close()
    return made


def wait(child, blocks):
    """Returns the status and the resource usage. A process that is expected to block is interrupted after a second."""
    begin, interrupted = time.monotonic(), False
    for turn in itertools.count():
        done, status, usage = os.wait4(child.pid, os.WNOHANG)
        if done:
            child.returncode = 0  # os.wait4 has reaped the child
            return status, usage, False
        elapsed = time.monotonic() - begin
        if blocks and elapsed > 1 and not interrupted:
            interrupted = True
            os.kill(child.pid, signal.SIGINT)
        if elapsed > (60 if interrupted else WALL_SECONDS):
            os.killpg(child.pid, signal.SIGKILL)
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = 0
            return status, usage, True
        time.sleep(min(0.002 * 1.1**turn, 0.1))


# ---- Checks

def unprintable(text):
    return [character for character in text if (unicodedata.category(character) in ("Cc", "Zl", "Zp", "Cs") and character != "\n")
            or ord(character) in BIDIRECTIONAL]


def problems(made, hostile, folder):
    if made.timed_out:
        yield "hang", f"no end within {WALL_SECONDS} s"
        return
    if made.code < 0 or made.code > 130:
        yield "signal", f"exit code {made.code} after {made.seconds:.1f} s of CPU time"
    elif made.code not in DOCUMENTED:
        yield "exit code", f"{made.code}"
    elif hostile.codes and made.code not in hostile.codes:
        yield "exit code", f"{made.code} where one of {hostile.codes} is right"
    elif made.code == 130 and not hostile.blocks:
        yield "exit code", "130 without a signal"
    size = os.path.getsize(hostile.path) if os.path.isfile(hostile.path) else 0
    if made.memory > MEMORY and size < SMALL_FILE:
        yield "memory", f"{made.memory / 1e6:.0f} MB for a file of {size} bytes"
    for name, raw in (("stdout", made.output), ("stderr", made.error)):
        try:
            text = raw.decode()
        except UnicodeDecodeError as error:
            yield "text", f"{name} is not UTF-8: {error}"
            continue
        if unprintable(text):
            yield "text", f"{name} has {[hex(ord(character)) for character in unprintable(text)[:5]]}"
        if any(marker in text for marker in MARKER_TEXTS):
            yield "outside", f"{name} has a number of a file outside"
    if made.code not in (0, 130) and not re.search(REASON, made.error):
        yield "message", "stderr does not say why"
    if hostile.unprivileged and made.code == 3 and b"ermission denied" not in made.error:
        yield "message", "stderr does not say that the permission is denied"
    marker = np.float64(MARKER).tobytes()
    for path in folder.iterdir():
        if path.is_file() and not path.is_symlink() and path != hostile.path and path.stat().st_size < 10**8 and marker in path.read_bytes():
            yield "outside", f"{path.name} has a number of a file outside"


def check(arguments, index, base):
    """Returns the failures of one file, and its run."""
    rng = np.random.default_rng([arguments.seed, index])
    families = {family.__name__: family for family in hostile_inputs.FAMILIES}
    family = families[arguments.family] if arguments.family else hostile_inputs.family_of(rng)
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        hostile = family(rng, folder, base)
        made = run(arguments.program, command_of(rng, hostile, folder, base), hostile, folder)
        found = list(problems(made, hostile, folder))
        for check_name, text in found:
            print(f"FAIL {check_name}: {text}\n     {family.__name__}: hostile_files.py {arguments.program} --seed {arguments.seed} --only {index}"
                  + (f" --family {arguments.family}" if arguments.family else "")
                  + f"\n     matapprox {shlex.join(made.arguments)!a}\n     {made.error[-300:]!a}", flush=True)
        if arguments.only is not None:
            print(f"{family.__name__}: {shlex.join(made.arguments)!a}\nexit code {made.code}, {made.memory / 1e6:.0f} MB, {made.seconds:.2f} s\n"
                  f"{made.output[:2000]!a}\n{made.error[:2000]!a}")
        if found and arguments.keep:
            shutil.copytree(folder, pathlib.Path(arguments.keep) / f"{arguments.seed}_{index}_{family.__name__}", dirs_exist_ok=True, symlinks=True,
                            ignore=lambda where, names: [name for name in names if not os.path.isfile(os.path.join(where, name))
                                                         or os.path.getsize(os.path.join(where, name)) > 10**8])
    return family.__name__, found, made


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--count", type=int, default=300, help="how many files [300]")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="the file of this index alone")
    parser.add_argument("--family", help="files of this family alone")
    parser.add_argument("--keep", metavar="FOLDER", help="keep the files of failures here")
    arguments = parser.parse_args()
    arguments.program = os.path.abspath(arguments.program)
    begin, failed, codes, most, longest = time.monotonic(), collections.Counter(), collections.Counter(), (0, ""), (0.0, "")
    with tempfile.TemporaryDirectory() as valid:
        base = make_base(arguments.program, pathlib.Path(valid))
        indices = [arguments.only] if arguments.only is not None else range(arguments.count)
        for index in indices:
            family, found, made = check(arguments, index, base)
            failed.update(name for name, _ in found)
            codes[made.code] += 1
            most = max(most, (made.memory, f"{family} {index}"))
            longest = max(longest, (made.seconds, f"{family} {index}"))
    for name, count in sorted(failed.items()):
        print(f"{count:5d} {name}")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{len(indices)} files, {sum(failed.values())} failures; exit codes {dict(sorted(codes.items()))}; at most {most[0] / 1e6:.0f} MB ({most[1]}) "
          f"and {longest[0]:.1f} s ({longest[1]}); {used.ru_utime + used.ru_stime:.0f} s of CPU time in {time.monotonic() - begin:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
