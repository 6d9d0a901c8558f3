#!/usr/bin/env python3
"""A run on several processes resumes to the same result after one of them is killed at a random moment.

    mpi_kill_and_resume.py MPIEXEC PROGRAM [--kills 20] [--seed 1] [--methods chord,truncated_svd,nystrom]

For a sampled Chord fit to a kernel, a truncated SVD of a sparse graph (krylov) and Nystrom of a kernel (pivoted
Cholesky): runs it once on two processes to its end. Then starts it again and again, kills one process with SIGKILL
at a random moment after its first checkpoint, and checks that mpirun ends with a nonzero exit status, that all processes
end within 5 seconds, that the file loads, and that --resume gives the factors of the uninterrupted run bit for bit.
Finally checkpoints taken on two processes are resumed on one and on three: Chord to the same bits, the others to the same
products within 1e-10. Exit status 0 if everything holds.
"""
import argparse
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from kill_and_resume import factors, run

# Waiting processes yield the CPU to others: the machine may be busy.
os.environ["OMPI_MCA_mpi_yield_when_idle"] = "1"
MANY = 12000  # points of the kernel whose landmarks are selected
# Relative difference between products with results of different numbers of processes; 0: the same bits.
TOLERANCES = {"chord": 0, "truncated_svd": 1e-10, "nystrom": 1e-10}


def write_inputs(folder):
    """Writes a graph and points, both from fixed pseudorandom sequences."""
    numbers = random.Random(3)
    nodes = 40000
    edges = {(i, j) for i in range(1, nodes) for j in (i - 1, numbers.randrange(i), numbers.randrange(i))}
    lines = [f"{i + 1} {j + 1} {1 + (i * j) % 7}" for i, j in sorted(edges)]
    head = ["%%MatrixMarket matrix coordinate real symmetric", f"{nodes} {nodes} {len(lines)}"]
    (folder / "graph.mtx").write_text("\n".join([*head, *lines, ""]))
    for name, count in (("few.csv", 1500), ("many.csv", MANY)):
        (folder / name).write_text("".join(f"{numbers.random():.6f},{numbers.random():.6f},{numbers.random():.6f}\n"
                                           for _ in range(count)))
    for name, rows in (("graph", nodes), ("few", 1500), ("many", MANY)):
        block = "".join(f"{numbers.gauss(0, 1)!r},{numbers.gauss(0, 1)!r}\n" for _ in range(rows))
        (folder / f"{name}_block.csv").write_text(block)


class Runs:
    """Runs of one method."""

    def __init__(self, options, folder, method):
        self.options = options
        self.folder = folder
        self.method = method
        self.longest_end = 0.0  # longest time from a kill to the end of all processes, in seconds
        name, self.arguments = {
            "chord": ("few", ["few.csv", "chord", "--as", "kernel", "--columns-per-step", "8", "--adam-steps", "100",
                                "--starts", "1", "--max-iterations", "0", "--newton-steps", "0"]),
            "truncated_svd": ("graph", ["graph.mtx", "truncated_svd", "--rank", "40", "--algorithm", "krylov"]),
            "nystrom": ("many", ["many.csv", "nystrom", "--as", "kernel", "--form", "psd", "--rank", "1500",
                                 "--bandwidth", "0.05"]),
        }[method]
        self.block = f"{name}_block.csv"

    def command(self, processes, output, *more):
        start = [self.options.mpiexec, "-q", "--oversubscribe", "--allow-run-as-root", "--bind-to", "none", "-n",
                 processes] if processes > 1 else []
        return [str(part) for part in
                [*start, self.options.program, "approximate", *self.arguments, "-o", output, "--checkpoint-seconds", "0.1",
                 "--measure", "none", "--threads", "1", *more]]

    def run(self, processes, output, *more):
        done = subprocess.run(self.command(processes, output, *more), cwd=self.folder, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"{self.method} on {processes}: exit code {done.returncode}: {done.stderr}")

    def is_resumable(self, output):
        """False if the run had written its final result when it was killed."""
        return json.loads(run([self.options.program, "info", self.folder / output, "--json", "-"]).stdout)["resumable"]

    def factors(self, output):
        return factors(self.options.program, self.folder / output, self.folder)

    def product(self, output):
        """Returns the entries of a product with the saved factors."""
        command = [self.options.program, "apply", output, self.block]
        done = subprocess.run(command, cwd=self.folder, check=True, capture_output=True, text=True)
        return [float(number) for line in done.stdout.splitlines() for number in line.split(",")]

    def kill_one(self, output, moments, within):
        """Kills one of two processes. Returns its rank, the seconds it ran, and what was wrong with the end of the
        run."""
        file = self.folder / output
        while True:
            file.unlink(missing_ok=True)
            job = subprocess.Popen(self.command(2, output), cwd=self.folder, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
            start = time.monotonic()
            while not file.exists() and job.poll() is None:
                time.sleep(0.002)
            time.sleep(moments.uniform(0, within))
            processes = children_of(job)
            if job.poll() is not None or len(processes) != 2:
                job.wait()
                within *= 0.8  # the run had ended before the kill
                continue
            killed = moments.randrange(2)
            os.kill(processes[killed], signal.SIGKILL)
            ran = time.monotonic() - start
            deadline = time.monotonic() + self.options.end_within
            try:
                status = job.wait(timeout=self.options.end_within)
            except subprocess.TimeoutExpired:
                job.kill()
                for process in filter(is_running, processes):
                    os.kill(process, signal.SIGKILL)
                return killed, ran, f"mpirun does not end within {self.options.end_within} s"
            wrong = ""
            while any(is_running(process) for process in processes) and time.monotonic() < deadline:
                time.sleep(0.01)
            self.longest_end = max(self.longest_end, time.monotonic() - deadline + self.options.end_within)
            if any(is_running(process) for process in processes):
                wrong = "a process is left"
            elif status == 0:
                wrong = "exit status 0"
            return killed, ran, wrong


def children_of(job):
    try:
        return [int(pid) for pid in pathlib.Path(f"/proc/{job.pid}/task/{job.pid}/children").read_text().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []


def is_running(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def relative_difference(ours, theirs):
    return max(abs(a - b) for a, b in zip(ours, theirs)) / max(abs(b) for b in theirs)


def check_method(runs, moments):
    """Returns the number of failures."""
    start = time.monotonic()
    runs.run(2, "whole.h5", "--force")
    seconds = time.monotonic() - start
    print(f"{runs.method}: {seconds:.1f} s uninterrupted on two processes", flush=True)
    expected = runs.factors("whole.h5")
    (runs.folder / "kept.h5").unlink(missing_ok=True)
    failures = 0
    kills = 0
    for _ in range(10 * runs.options.kills):
        killed, ran, wrong = runs.kill_one("killed.h5", moments, 0.7 * seconds)
        finished = not wrong and not runs.is_resumable(runs.folder / "killed.h5")
        if not wrong and not finished:
            shutil.copy(runs.folder / "killed.h5", runs.folder / "kept.h5")
            runs.run(2, "killed.h5", "--resume")
        if not wrong and runs.factors("killed.h5") != expected:
            wrong = "other bits"
        failures += bool(wrong)
        kills += not finished
        print(f"{'FAIL' if wrong else 'ok  '} {runs.method}, kill {kills}: process {killed} after {ran:.2f} s, "
              f"{wrong or ('had finished, not counted' if finished else 'resumed to the same bits')}", flush=True)
        if kills == runs.options.kills:
            break
    else:
        failures += 1
        print(f"FAIL {runs.method}: {kills} of {runs.options.kills} kills came before its end", flush=True)
    print(f"     {runs.method}: all were gone {runs.longest_end:.2f} s after a kill at the latest", flush=True)
    for processes in (1, 3) if (runs.folder / "kept.h5").exists() else ():
        shutil.copy(runs.folder / "kept.h5", runs.folder / "other.h5")
        runs.run(processes, "other.h5", "--resume")
        difference = relative_difference(runs.product("other.h5"), runs.product("whole.h5"))
        same = runs.factors("other.h5") == expected
        good = same or 0 < difference <= TOLERANCES[runs.method]
        failures += not good
        print(f"{'ok  ' if good else 'FAIL'} {runs.method}, a checkpoint of two processes resumed on {processes}: "
              f"{'the same bits' if same else f'products differ by {difference:.1e}'}", flush=True)
    return failures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mpiexec")
    parser.add_argument("program")
    parser.add_argument("--kills", type=int, default=20, help="of each method")
    parser.add_argument("--end-within", type=float, default=5, help="seconds that mpirun has after a kill; more on a busy machine")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--methods", default="chord,truncated_svd,nystrom")
    options = parser.parse_args()
    options.program = str(pathlib.Path(options.program).resolve())
    moments = random.Random(options.seed)
    failures = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_inputs(folder)
        for method in options.methods.split(","):
            failures += check_method(Runs(options, folder, method), moments)
    print("all hold" if failures == 0 else f"{failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
