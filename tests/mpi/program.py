"""Tests the program on several processes: the same results, and its behavior when one process fails.

usage: program.py MPIEXEC MATAPPROX MATAPPROX_MPI [datasets]

With `datasets`, runs only the tests that need numpy and h5py; exit status 77 without these packages.
"""

import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

try:
    import h5py
    import numpy
except ImportError:
    h5py = None

MPIEXEC, PROGRAM, ON_ALL, *ASKED = sys.argv[1:]
MATRICES = pathlib.Path(__file__).resolve().parents[2] / "matrices"
START = [MPIEXEC, "-q", "--oversubscribe", "--allow-run-as-root", "--bind-to", "none", "-n"]


def run(processes, *arguments, program=PROGRAM):
    command = [*START, str(processes), program] if processes else [program]
    return subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=60)


def expect(condition, *what):
    if not condition:
        sys.exit("program.py: " + " ".join(str(part) for part in what))


def children_of(process):
    listed = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
    return [int(pid) for pid in listed.split()]


def is_running(pid):
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def all_end(pids, seconds):
    until = time.monotonic() + seconds
    while any(is_running(pid) for pid in pids):
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True


def long_fit(folder, name, *options):
    """Starts a fit that takes minutes on three processes and waits for its first checkpoint. Returns the fit and its
    processes."""
    output = folder / name
    fit = subprocess.Popen(
        [*START, "3", PROGRAM, "approximate", MATRICES / "mesh2d.mtx", "chord", "--max-iterations", "10000000",
         "--checkpoint-seconds", "1", "-o", output, *options],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + 40
    while not output.exists():
        expect(fit.poll() is None and time.monotonic() < until, "no checkpoint:", fit.poll())
        time.sleep(0.1)
    pids = children_of(fit)
    expect(len(pids) == 3, "three processes expected:", pids)
    return fit, pids


def same_results(folder):
    def values(name, processes, program):
        arguments = ["approximate", MATRICES / "mesh2d.mtx", "truncated_svd", "--rank", "8", "--algorithm", "krylov",
                     "--seed", "3", "--json", "-", "-o", folder / f"{name}.h5"]
        done = run(processes, *arguments, program=program)
        expect(done.returncode == 0, name, done.returncode, done.stderr)
        run(0, "export", folder / f"{name}.h5", folder / f"{name}.npz")
        return json.loads(done.stdout)["results"][0]

    serial = values("serial", 0, PROGRAM)
    expect(values("one", 1, ON_ALL) and (folder / "one.npz").read_bytes() == (folder / "serial.npz").read_bytes(),
           "one process: other bits than the serial program")
    for processes in (2, 4):
        row = values(f"on{processes}", processes, PROGRAM)
        expect("over all processes" in run(
            processes, "info", MATRICES / "mesh2d.mtx", "-v").stderr, "not dealt to", processes)
        for key in ("relative_error", "passes"):
            expect(abs(row[key] - serial[key]) <= 1e-10 * abs(serial[key]), processes, key, row[key], serial[key])


def chord_factors(folder):
    """A fit by random columns, and products with its result, have the bits of one process."""
    block = folder / "x.csv"
    block.write_text("".join(f"{i % 7 - 3},{(i * i) % 11}\n" for i in range(360)))

    def bits(name, processes):
        done = run(processes, "approximate", MATRICES / "mesh2d.mtx", "chord", "--adam-steps", "5", "--columns-per-step",
                   "8", "-o", folder / f"{name}.h5")
        expect(done.returncode == 0, name, done.returncode, done.stderr)
        run(0, "export", folder / f"{name}.h5", folder / f"{name}.npz")
        products = []
        for way in ([], ["--transpose"]):
            done = run(processes, "apply", folder / f"{name}.h5", block, *way, "-v")
            expect(done.returncode == 0 and (not processes or "over all processes" in done.stderr), name, done.stderr)
            products.append(done.stdout)
        return (folder / f"{name}.npz").read_bytes(), *products

    serial = bits("chord", 0)
    expect(bits("chord3", 3) == serial, "other bits of Chord factors on three processes")


def blocks_of_points(folder):
    """A hierarchical fit to more points than are stored as a matrix, and `best` with it, write the bytes of one
    process."""
    points = folder / "points.csv"
    points.write_text("".join(f"{i * 0.6180339887 % 1:.6f},{i * 0.7548776662 % 1:.6f}\n" for i in range(4200)))
    common = [points, "--as", "kernel", "--bandwidth", "0.3", "--force", "-o"]

    def bits(name, processes, *arguments):
        done = run(processes, *arguments)
        expect(done.returncode == 0, name, done.returncode, done.stderr)
        run(0, "export", folder / f"{name}.h5", folder / f"{name}.npz")
        return (folder / f"{name}.npz").read_bytes()

    def fit(name, processes):
        return bits(name, processes, "approximate", "--measure", "none", *common, folder / f"{name}.h5", "hierarchical",
                    "--frobenius-tolerance", "0.01")

    def chosen(name, processes):
        return bits(name, processes, "best", "--methods", "hierarchical", "--target-error", "0.05", *common,
                    folder / f"{name}.h5")

    serial = fit("blocks", 0)
    for processes in (2, 4):
        expect(fit(f"blocks{processes}", processes) == serial, "other blocks on", processes)
    expect(chosen("best2", 2) == chosen("best", 0), "best: other blocks on 2 processes")


def dense_matrices(folder):
    """Kinds of matrices that are distributed."""
    (folder / "table.csv").write_text("".join(f"{i % 7},{(i * i) % 11},{i % 5}\n" for i in range(60)))
    for kind in (["--as", "kernel"], ["--as", "covariance"], []):
        done = run(2, "info", folder / "table.csv", *kind, "-v")
        expect(done.returncode == 0 and "over all processes" in done.stderr, kind, done.returncode, done.stderr)


def datasets(folder):
    """A dataset that no process has as a whole, and one that one of two processes cannot read."""
    order = 11 * 527  # more than 256 MB as doubles
    values = (numpy.add.outer(numpy.arange(11) ** 2, numpy.arange(11) ** 3) % 11).astype("int8")
    for place in ("here", "there"):
        (folder / place).mkdir()
    with h5py.File(folder / "here" / "x.h5", "w") as file:
        file["A"] = numpy.tile(values, (order // 11, order // 11))

    measured = ["approximate", "x.h5", "truncated_svd", "--rank", "3", "--algorithm", "randomized", "-o", folder / "svd.h5",
                "--force"]
    start = [*START[:-1], "-wdir", folder / "here", "-n"]
    command = [*start, "2", PROGRAM, *measured, "-v", "--json", "-"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    expect(done.returncode == 0 and "left in the file" in done.stderr and "over all processes" in done.stderr,
           "dataset:", done.returncode, done.stderr)
    error = json.loads(done.stdout)["results"][0]["relative_error"]
    singular = numpy.linalg.svd(values.astype(float), compute_uv=False)
    best = numpy.linalg.norm(singular[3:]) / numpy.linalg.norm(singular)
    expect(abs(error - best) < 1e-6 * best, "dataset: relative error", error, best)

    # The file is in the folder of the first process, but not in that of the second.
    command = [*start, "1", PROGRAM, *measured, ":", "-wdir", folder / "there", "-n", "1", PROGRAM, *measured]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    lines = [line for line in done.stderr.splitlines() if line.startswith("matapprox:")]
    expect(done.returncode == 3 and len(lines) == 1 and "process 1 of 2: x.h5" in lines[0],
           "a file that one process cannot read:", done.returncode, done.stderr)


def failures(folder):
    for arguments, code, words in ((["info", folder / "none.mtx"], 3, "none.mtx"),
                                   (["info"], 2, ""),
                                   (["attention", "list"], 5, "one process")):
        done = run(3, *arguments)
        expect(done.returncode == code and words in done.stderr, arguments, done.returncode, done.stderr)
        expect(not words or len(done.stderr.splitlines()) == 1, "more than one line:", done.stderr)

    alone = folder / "alone"
    alone.mkdir()
    shutil.copy(PROGRAM, alone / "matapprox")
    done = run(2, "info", MATRICES / "mesh2d.mtx", program=alone / "matapprox")
    expect(done.returncode == 5 and len(done.stderr.splitlines()) == 1 and "MATAPPROX_WITH_MPI" in done.stderr,
           "without matapprox-mpi:", done.returncode, done.stderr)


def a_limit_of_addresses(folder):
    """`ulimit -v` forbids the address space that the first process reserves for blocks: one message says so."""
    command = [*START, "2", PROGRAM, "approximate", MATRICES / "mesh2d.mtx", "truncated_svd", "--rank", "8", "-o",
               folder / "limited.h5"]
    done = subprocess.run(["bash", "-c", 'ulimit -v 4000000; exec "$@"', "bash", *command], capture_output=True, text=True,
                          timeout=60)
    expect(done.returncode == 5 and len(done.stderr.splitlines()) == 1 and "ulimit -v" in done.stderr,
           "ulimit -v:", done.returncode, done.stderr)
    expect(not (folder / "limited.h5").exists(), "ulimit -v: a file is left")


def a_full_disk_on_one_process(folder):
    """The second process may write no more during a fit: one message, no process left, and the previous checkpoint."""
    fit, pids = long_fit(folder, "full.h5", "--columns-per-step", "8")
    resource.prlimit(pids[1], resource.RLIMIT_FSIZE, (0, 0))
    _, messages = fit.communicate(timeout=30)
    lines = [line for line in messages.splitlines() if not line.startswith("matapprox: note")]
    expect(fit.returncode == 3 and len(lines) == 1 and "process 1 of 3" in lines[0]
           and "full.h5: cannot write: File too large" in lines[0], "a full disk:", fit.returncode, messages)
    expect(all_end(pids, 5), "processes are left")
    expect([file.name for file in folder.glob("full.h5*")] == ["full.h5"], "a full disk: a file is left")
    done = run(0, "info", folder / "full.h5")
    expect(done.returncode == 0, "the checkpoint cannot be read:", done.stderr)


def a_killed_process_ends_all(folder):
    fit, pids = long_fit(folder, "killed.h5")
    begin = time.monotonic()
    os.kill(pids[1], signal.SIGKILL)
    expect(all_end(pids, 5), "processes are left after 5 s")
    took = time.monotonic() - begin
    fit.communicate(timeout=30)
    expect(fit.returncode != 0, "exit code 0 after a process was killed")
    done = run(0, "info", folder / "killed.h5")
    expect(done.returncode == 0, "the checkpoint cannot be read:", done.stderr)
    print(f"kill -9: all gone after {took:.1f} s, exit code {fit.returncode}")


def sigusr1_stops_at_the_best_point(folder):
    fit, pids = long_fit(folder, "stopped.h5")
    fit.send_signal(signal.SIGUSR1)
    _, messages = fit.communicate(timeout=30)
    expect(fit.returncode == 130, "SIGUSR1: exit code", fit.returncode, messages)
    expect(all_end(pids, 5), "processes are left")
    done = run(0, "info", folder / "stopped.h5")
    expect(done.returncode == 0, "what was saved cannot be read:", done.stderr)


checks = (same_results, dense_matrices, chord_factors, blocks_of_points, failures, a_limit_of_addresses,
          a_full_disk_on_one_process, a_killed_process_ends_all, sigusr1_stops_at_the_best_point)
if ASKED == ["datasets"]:
    if h5py is None:
        print("numpy and h5py are needed")
        sys.exit(77)
    checks = (datasets,)
with tempfile.TemporaryDirectory() as temporary:
    for check in checks:
        check(pathlib.Path(temporary))
