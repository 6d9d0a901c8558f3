#!/usr/bin/env python3
"""Checks the output of the commands on generated matrices against dense references in NumPy.

    properties.py PROGRAM [--count N] [--seed S] [--only INDEX] [--checks LIST] [--keep FOLDER]

For each of N matrices of generated_matrices.py, `solve`, `spectrum`, `approximate` with every method, `measure` and
`best` run, each with at most 20 s of CPU time. A run may succeed, or fail with a documented exit code and a message.
Its output must be true of the matrix as written: residuals, eigenvalues, errors, bounds, sizes, and whether a
tolerance, target or budget was met. Exit status 0 if all of it is. Each failure is printed with the command line that
reproduces it; --keep leaves the files of failed matrices in FOLDER.

The references are computed from the saved results in extended precision, whose range holds the squares of all
doubles, and singular values and eigenvalues from the matrix scaled by a power of two.
"""
import argparse
import collections
import importlib.util
import json
import os
import pathlib
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

import h5py
import numpy as np

import generated_matrices

EPS = np.finfo(np.float64).eps
TINY = 5e-324
CPU_SECONDS = 20
WALL_SECONDS = 600  # for a process that waits without computing
REFUSED = {2, 4}
WIDE = np.longdouble
# Options of the shortest Chord fit that runs every stage.
SHORT_CHORD = ["--effort", "fast", "--starts", "1", "--adam-steps", "150", "--max-iterations", "60", "--newton-steps", "3"]


def load_rebuilder():
    path = pathlib.Path(__file__).resolve().parent.parent / "reference" / "rebuild_approximation.py"
    specification = importlib.util.spec_from_file_location("rebuild_approximation", path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


REBUILDER = load_rebuilder()


# ---- References

def frobenius(A):
    return float(wide_frobenius(A))


def wide_frobenius(A):
    A = np.asarray(A, WIDE)
    return np.sqrt((A * A).sum())


def to_unit_scale(A):
    """Returns A scaled in doubles by the power of two that brings its largest entry to 0.5 .. 1, and the exponent."""
    largest = np.abs(A).max(initial=0.0)
    if largest == 0:
        return np.asarray(A, np.float64), 0
    exponent = int(np.frexp(largest)[1])
    return np.ldexp(np.asarray(A, WIDE), -exponent).astype(np.float64), exponent


def singular_values(A):
    """Singular values of A in extended precision, computed in doubles from A scaled by a power of two."""
    scaled, exponent = to_unit_scale(A)
    return np.ldexp(np.linalg.svd(scaled, compute_uv=False).astype(WIDE), exponent)


def evaluation_rounding(path, size):
    """Bound of |B' - B| for two orders of evaluation of the saved product B: n eps times the norms of its factors. Values in
    few bits are integers of up to 15 bits times a unit and a scale, whose product may be subnormal."""
    with h5py.File(path) as file:
        norms, order = WIDE(1), 1
        for position in range(1, int(file["factors"].attrs["count"]) + 1):
            value = REBUILDER.value_matrix(file[f"values/{int(file[f'factors/{position}'].attrs['value'])}"])
            norms, order = norms * wide_frobenius(value), max(order, *value.shape)
    return 4 * order * EPS * norms + WIDE(TINY) * size * 2**15


def rebuild(path):
    """The saved matrix in extended precision."""
    with h5py.File(path, "r") as file:
        made, product = {}, None
        for position in range(1, int(file["factors"].attrs["count"]) + 1):
            factor = file[f"factors/{position}"]
            value = int(factor.attrs["value"])
            if value not in made:
                made[value] = np.asarray(REBUILDER.value_matrix(file[f"values/{value}"]), WIDE)
            F = made[value].T if int(factor.attrs["transposed"]) else made[value]
            product = F if product is None else product @ F
        return (product + product.T) / 2 if int(file.attrs["symmetrized"]) else product


def named_factors(path):
    """The factors as they are multiplied, by name."""
    with h5py.File(path, "r") as file:
        found = {}
        for position in range(1, int(file["factors"].attrs["count"]) + 1):
            factor = file[f"factors/{position}"]
            F = np.asarray(REBUILDER.value_matrix(file[f"values/{int(factor.attrs['value'])}"]))
            found.setdefault(REBUILDER.text(factor.attrs["name"]), F.T if int(factor.attrs["transposed"]) else F)
        return found


def bytes_of_arrays(path):
    """Number of bytes of all datasets of the factors as they are stored."""
    total = 0

    def add(_, item):
        nonlocal total
        if isinstance(item, h5py.Dataset):
            total += item.size * item.id.get_type().get_size()

    with h5py.File(path, "r") as file:
        file["values"].visititems(add)
    return total


def asymmetry_is_rounding(A):
    """True if rounding explains the difference of each pair of mirror images: relative to the pair, or to sqrt|a_ii
    a_jj|."""
    scaled = np.abs(np.asarray(A, WIDE))
    d = np.sqrt(np.diag(scaled))
    size = np.maximum(np.maximum(scaled, scaled.T), d[:, None] * d[None, :])
    return bool((np.abs(np.asarray(A, WIDE) - np.asarray(A, WIDE).T) <= 100 * EPS * size).all())


# ---- Running

Run = collections.namedtuple("Run", "arguments code output error document seconds")


def limited():
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 5))


def cpu_of_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(program, arguments):
    arguments = [str(argument) for argument in arguments] + ["--json", "-", "--quiet", "--threads", "1", "--force"]
    environment = dict(os.environ, OPENBLAS_NUM_THREADS="1")
    before = cpu_of_children()
    try:
        done = subprocess.run([program, *arguments], preexec_fn=limited, env=environment, capture_output=True,
                              timeout=WALL_SECONDS, check=False)
        code, output, error = done.returncode, done.stdout.decode(), done.stderr.decode()
    except subprocess.TimeoutExpired:
        code, output, error = -9, "", f"no end within {WALL_SECONDS} s of wall time"
    try:
        document = json.loads(output) if output.strip() else None
    except ValueError:
        document = None
    return Run(arguments, code, output, error, document, cpu_of_children() - before)


class Checker:
    """Runs commands on one matrix and gathers what is wrong."""

    def __init__(self, program, case, folder, checks):
        self.program, self.case, self.folder, self.checks = program, case, folder, checks
        self.rng = np.random.default_rng([case.seed, case.index, 1])
        self.failures = []
        self.runs = 0
        self.last = None
        self.slowest = (0.0, "")
        self.A = np.asarray(case.A, WIDE)
        self.size = wide_frobenius(self.A)
        self.values = singular_values(case.A)
        sparse = self.rng.uniform() < 0.5
        self.matrix = folder / ("A.mtx" if sparse else "A.npy")
        if sparse:
            generated_matrices.write_matrix_market(self.matrix, case.A, case.is_symmetric and self.rng.uniform() < 0.5)
        else:
            np.save(self.matrix, case.A)

    def fail(self, made, check, text):
        self.failures.append((check, text, made))

    def expect(self, condition, made, check, text):
        if not condition:
            self.fail(made, check, text)
        return condition

    def run(self, *arguments):
        """Returns the run if its result can be checked, after a check of its exit code; None for a refusal."""
        made = self.last = run(self.program, arguments)
        self.runs += 1
        if made.seconds > self.slowest[0]:
            self.slowest = (made.seconds, " ".join(made.arguments[:4]))
        command = arguments[0]
        if made.code < 0 or made.code > 128:
            self.fail(made, f"{command}: ends", f"exit code {made.code} after {made.seconds:.1f} s of CPU time: "
                                                f"{made.error.strip()[-200:]}")
            return None
        if made.code not in REFUSED | {0}:
            self.fail(made, f"{command}: exit code", f"{made.code}: {made.error.strip()[-200:]}")
            return None
        if made.code == 0 and made.document is None:
            self.fail(made, f"{command}: JSON", f"none: {made.output[:100]!r}")
            return None
        if made.code != 0 and made.document is None:
            self.expect(made.error.strip(), made, f"{command}: message", f"exit code {made.code} without a message")
            return None
        return made

    def relative(self, value):
        """Returns the value over |A|_F; 0 over 0 is 0."""
        return float(value / self.size) if self.size > 0 else (0.0 if value == 0 else np.inf)

    def grain(self):
        """Spacing of subnormals as a contribution to the relative error."""
        return self.relative(WIDE(TINY) * self.A.size)

    def check_head(self, made, command):
        matrix = made.document.get("matrix")
        if not isinstance(matrix, dict):
            return
        if matrix["frobenius_norm_is_exact"]:
            self.expect(abs(self.relative(WIDE(matrix["frobenius_norm"]) - self.size)) <= 1e-13 + self.grain(), made,
                        f"{command}: norm", f"|A|_F {matrix['frobenius_norm']} instead of {float(self.size)}")
        if not self.case.is_square:
            self.expect(not matrix["symmetric"], made, f"{command}: symmetric", "of a matrix that is not square")
            return
        if self.case.is_symmetric:
            self.expect(matrix["symmetric"], made, f"{command}: symmetric", "a symmetric matrix is not seen to be")
        elif matrix["symmetric"]:
            self.expect(asymmetry_is_rounding(self.case.A), made, f"{command}: symmetric",
                        "asymmetry above rounding is taken for symmetric")
            self.expect(matrix["averaged_asymmetry"] > 0, made, f"{command}: symmetric", "averaged without saying so")


# ---- solve

def right_side(checker):
    A, n, rng = checker.A, checker.A.shape[0], checker.rng
    kind = rng.choice(["range", "random", "ends", "unit"])
    if kind == "range":
        b = A @ rng.standard_normal(n).astype(WIDE)
    elif kind == "ends":
        b = np.ones(n)
        b[0] = b[n - 1] = 0
        b = np.ldexp(b, to_unit_scale(checker.case.A)[1] - 1)
    elif kind == "random":
        b = np.ldexp(rng.standard_normal(n), to_unit_scale(checker.case.A)[1] - 3)
    else:
        b = rng.standard_normal(n)
    b = np.asarray(b, np.float64)
    return (kind, b) if np.isfinite(b).all() and b.any() else ("unit", np.ones(n))


def least_residual(checker, b):
    """Returns min |b - A x| / |b|, the condition number of A on its range, and whether no singular value lies between
    the cutoffs 1e-11 and 1e-9."""
    scaled, _ = to_unit_scale(checker.case.A)
    U, s, _ = np.linalg.svd(scaled)
    kept = s > 1e-11 * s[0] if s[0] > 0 else s > 0
    c, _ = to_unit_scale(b)
    rest = c - U[:, kept] @ (U[:, kept].T @ c)
    clear = bool(((s > 1e-9 * s[0]) == kept).all()) if s[0] > 0 else True
    condition = s[0] / s[kept][-1] if kept.any() else np.inf
    return float(np.linalg.norm(rest) / np.linalg.norm(c)), condition, clear


def check_solution(checker, made, b, tolerance, where):
    A, solution = checker.A, made.document["solutions"][0]
    x = np.load(checker.folder / "x.npy").reshape(-1)
    if not checker.expect(np.isfinite(x).all(), made, "solve: finite", f"x has NaN or Inf, {where}"):
        return
    wide_b, wide_x = b.astype(WIDE), x.astype(WIDE)
    length = wide_frobenius(b)
    true = float(wide_frobenius(wide_b - A @ wide_x) / length)
    n = len(b)
    rounding = float(4 * n * EPS * wide_frobenius(np.abs(A) @ np.abs(wide_x) + np.abs(wide_b)) / length
                     + n * n * WIDE(TINY) * (1 + wide_frobenius(wide_x)) / length)
    printed = solution["relative_residual"]
    if checker.expect(printed is not None, made, "solve: residual", f"no residual is stated, true {true:.3g}, {where}"):
        checker.expect(abs(printed - true) <= 1e-9 * true + rounding, made, "solve: residual",
                       f"{printed:.6g} is stated, {true:.6g} is true, rounding {rounding:.1g}, {where}")
    converged = solution["end"] == "converged"
    checker.expect((made.code == 0) == converged, made, "solve: exit code", f"{made.code} with {solution['end']}, {where}")
    if converged:
        checker.expect(true <= tolerance * (1 + 1e-6) + rounding, made, "solve: converged",
                       f"with a residual of {true:.3g}, {where}")
    checker.expect(true <= 1 + 1e-9 + rounding, made, "solve: worse than zero", f"residual {true:.3g}, {where}")
    least, condition, clear = least_residual(checker, b)
    where = f"{where}, condition {condition:.1g} on the range, least residual {least:.2g}"
    if not checker.case.is_symmetric or not clear or condition > 1e3 or "--solver" in made.arguments:
        return
    checker.expect(true <= 1.05 * least + 2 * tolerance + rounding, made, "solve: least squares",
                   f"residual {true:.3g} ({solution['solver']}, {solution['end']}), {where}")


def check_solve(checker):
    if not checker.case.is_square:
        made = checker.run("solve", checker.matrix, checker.matrix)
        checker.expect(made is None, made, "solve: not square", "is not refused")
        return
    for solver, preconditioner in (("auto", "none"), ("auto", "jacobi"),
                                   (checker.rng.choice(["cg", "minres", "gmres"]), "none")):
        kind, b = right_side(checker)
        np.save(checker.folder / "b.npy", b)
        tolerance = float(checker.rng.choice([1e-4, 1e-8, 1e-12]))
        extra = [] if solver == "auto" else ["--solver", solver]
        made = checker.run("solve", checker.matrix, checker.folder / "b.npy", "--tolerance", tolerance, "--preconditioner",
                           preconditioner, *extra, "-o", checker.folder / "x.npy")
        if made:
            check_solution(checker, made, b, tolerance, f"b {kind}")


# ---- spectrum

def nearest_number(checker):
    scaled, exponent = to_unit_scale(checker.case.A)
    values = np.linalg.eigvalsh(scaled)
    kind = checker.rng.choice(["zero", "far", "value", "between"])
    number = {"zero": 0.0, "far": 1e6, "value": values[checker.rng.integers(len(values))],
              "between": checker.rng.uniform(values[0], values[-1])}[kind]
    return float(np.ldexp(number, exponent)), np.ldexp(values.astype(WIDE), exponent)


def check_eigenpairs(checker, made, nearest, values, count):
    document = made.document
    found = np.asarray(document["eigenvalues"], WIDE)
    scale = np.abs(values).max()
    unit = scale if scale > 0 else WIDE(1)
    slack = 1e-9 + float(len(values) ** 2 * WIDE(TINY) / unit)
    V = np.asarray(np.load(checker.folder / "v.npy").reshape(len(values), -1), WIDE)
    if not checker.expect(V.shape[1] == len(found) and np.isfinite(V).all(), made, "spectrum: vectors",
                          f"{V.shape[1]} vectors of {len(found)} values, or not finite"):
        return
    gram = np.abs(V.T @ V - np.eye(len(found))).max(initial=0.0)
    checker.expect(gram <= 1e-9, made, "spectrum: orthonormal", f"off by {float(gram):.2g}")
    residuals = np.sqrt(((checker.A @ V - V * found) ** 2).sum(axis=0))
    stated = np.asarray(document["residuals"], WIDE)
    checker.expect((np.abs(residuals - stated) / unit <= 1e-12 + slack).all(), made, "spectrum: residuals",
                   f"off by {float((np.abs(residuals - stated) / unit).max(initial=0)):.2g} of |A|")
    distances = np.abs(found - WIDE(nearest))
    checker.expect((np.diff(distances) >= -1e-9 * unit).all(), made, "spectrum: order", "the nearest is not first")
    if not document["converged"]:
        checker.expect(document["message"], made, "spectrum: message", "not converged without a reason")
        return
    if not checker.expect(len(found) == count, made, "spectrum: count", f"{len(found)} of {count} and converged"):
        return
    # Sorted, the two lists agree entry by entry: each copy counts.
    order = np.argsort(np.abs(values - WIDE(nearest)), kind="stable")[:count]
    expected = np.abs(values[order] - WIDE(nearest))
    off = float((np.abs(np.sort(distances) - expected) / unit).max(initial=0))
    # Distances from a far number lose the digits below its own rounding.
    checker.expect(off <= slack + float(abs(WIDE(nearest)) / unit) * EPS * 4, made, "spectrum: nearest",
                   f"a distance is off by {off:.3g} of |A|: {[float(v / unit) for v in found[:8]]} instead of "
                   f"{[float(v / unit) for v in values[order][:8]]}")
    left = [float(v) for v in values / unit]
    for value in (float(v) for v in found / unit):
        at = int(np.argmin([abs(value - other) for other in left]))
        if not checker.expect(abs(left[at] - value) <= slack, made, "spectrum: eigenvalue",
                              f"{value:.17g} of |A| is none, or one copy too many; next {left[at]:.17g}"):
            break
        left.pop(at)


def check_spectrum(checker):
    if checker.case.is_square and checker.case.is_symmetric:
        n = checker.A.shape[0]
        for _ in range(2):
            nearest, values = nearest_number(checker)
            if not np.isfinite(nearest):
                continue
            count = int(checker.rng.integers(1, min(n, 12) + 1))
            made = checker.run("spectrum", checker.matrix, f"--nearest={nearest!r}", "--count", count, "-o",
                               checker.folder / "v.npy")
            if made:
                checker.check_head(made, "spectrum")
                check_eigenpairs(checker, made, nearest, values, count)
        return
    made = checker.run("spectrum", checker.matrix, "--count", 1)
    if not checker.case.is_square or not asymmetry_is_rounding(checker.case.A):
        checker.expect(made is None, made, "spectrum: symmetric", "a matrix that is not symmetric is not refused")


# ---- approximate and measure

def check_error(checker, made, result, path, command):
    """Checks the stated error against the matrix rebuilt from the file. Returns the true relative error."""
    B = rebuild(path)
    E = checker.A - B
    true = checker.relative(wide_frobenius(E))
    if not checker.expect(np.isfinite(true), made, f"{command}: finite", "the saved matrix is not finite"):
        return None
    grain = checker.grain()
    stated = result["error_frobenius"]
    if not checker.expect(stated is not None, made, f"{command}: error", f"none is stated, true {true:.3g}"):
        return true
    of_stated = checker.relative(WIDE(stated))
    if result["error_is_exact"]:
        checker.expect(abs(of_stated - true) <= 1e-10 + grain, made, f"{command}: error",
                       f"{of_stated:.6g} |A| is stated, {true:.6g} |A| is true")
        if result["relative_error"] is not None:
            checker.expect(abs(result["relative_error"] - true) <= 1e-10 + grain, made, f"{command}: relative error",
                           f"{result['relative_error']:.6g} is stated, {true:.6g} is true")
        else:
            checker.expect(checker.size == 0 and true > 0, made, f"{command}: relative error", f"null, true {true:.3g}")
    spectral = singular_values(np.asarray(np.ldexp(E, -to_unit_scale(checker.case.A)[1]), np.float64))[0]
    spectral = np.ldexp(spectral, to_unit_scale(checker.case.A)[1])
    rounding = 4 * len(checker.A) * EPS * checker.size + evaluation_rounding(path, checker.A.size)
    lower = result["spectral_error_lower"]
    if lower is not None:
        checker.expect(WIDE(lower) <= spectral * (1 + 1e-10) + rounding, made, f"{command}: spectral error",
                       f"at least {lower:.6g} is stated, {float(spectral):.6g} is true")
        checker.expect(lower <= stated * (1 + 1e-9), made, f"{command}: spectral error",
                       f"at least {lower:.6g} beside |A - B|_F = {stated:.6g}")
    certificate = result["certificate"]
    if certificate is not None and certificate["spectral"] is not None:
        checker.expect(spectral <= WIDE(certificate["spectral"]) * (1 + 1e-10) + rounding, made, f"{command}: certificate",
                       f"|A - B|_2 at most {certificate['spectral']:.6g} is certified, {float(spectral):.6g} is true")
    if certificate is not None and certificate["frobenius"] is not None:
        checker.expect(true <= checker.relative(WIDE(certificate["frobenius"])) * (1 + 1e-10) + 1e-10 + grain, made,
                       f"{command}: certificate", f"{certificate['frobenius']:.6g} is certified, {true:.6g} |A| is true")
    checker.expect(bool(result["worse_than_zero"]) == (of_stated > 1) or abs(of_stated - 1) < 1e-9, made,
                   f"{command}: worse than zero", f"{result['worse_than_zero']}, error {of_stated:.6g} |A|")
    return true


def check_bytes(checker, made, result, path, command):
    stored = bytes_of_arrays(path)
    checker.expect(result["stored_bytes"] == stored, made, f"{command}: bytes",
                   f"{result['stored_bytes']} are stated, the arrays of the file have {stored}")


def tail(checker, rank):
    """Relative error of the nearest matrix of this rank."""
    return checker.relative(wide_frobenius(checker.values[rank:]))


def check_truncated_svd(checker, made, result, path, true, precision, algorithm):
    rank = result["rank"]
    least = tail(checker, rank)
    checker.expect(true >= least * (1 - 1e-9) - 1e-13 * len(checker.A), made, "truncated_svd: error",
                   f"{true:.6g} below the least of rank {rank}, {least:.6g}")
    if precision != "double" or checker.grain() > 1e-13:
        return
    if algorithm != "randomized" and "--target-error" not in made.arguments:
        checker.expect(true <= least * (1 + 1e-6) + 1e-12 * len(checker.A), made, "truncated_svd: error",
                       f"{true:.6g} where rank {rank} gives {least:.6g} ({algorithm})")
    for name, F in named_factors(path).items():
        if name in ("U", "V") and F.size > 0:
            columns = F if F.shape[0] >= F.shape[1] else F.T
            off = np.abs(columns.T @ columns - np.eye(columns.shape[1])).max()
            checker.expect(off <= 1e-8, made, "truncated_svd: orthonormal", f"{name}: off by {off:.2g} ({algorithm})")


def pseudo_inverse(C, tolerance):
    U, s, Vt = np.linalg.svd(C, full_matrices=False)
    kept = s > tolerance * s[0] if s.size and s[0] > 0 else np.zeros(s.size, bool)
    return (Vt[kept].T / s[kept]) @ U[:, kept].T


def check_cur(checker, made, path, true, precision):
    """Checks that U is no worse than the best U with the pseudo-inverses of C and R cut off at 1e-8."""
    if precision != "double" or checker.grain() > 1e-13:
        return
    factors = named_factors(path)
    if not {"C", "R"} <= set(factors):
        checker.fail(made, "cur: factors", f"{sorted(factors)}")
        return
    exponent = to_unit_scale(checker.case.A)[1]
    A, C, R = (np.ldexp(F.astype(WIDE), -exponent).astype(np.float64) for F in (checker.case.A, factors["C"], factors["R"]))
    best = frobenius(A - C @ (pseudo_inverse(C, 1e-8) @ A @ pseudo_inverse(R, 1e-8)) @ R)
    best = checker.relative(np.ldexp(WIDE(best), exponent))
    checker.expect(true <= best * (1 + 1e-3) + 1e-10, made, "cur: best U", f"error {true:.6g} where the best U gives {best:.6g}")


def check_budget(checker, made, result, budget, command):
    if budget is None:
        return
    packed = result["storage_precision"] == "packed"
    entries = checker.A.size
    if budget.endswith("%"):
        share = float(budget[:-1]) / 100
        within = result["stored_bytes"] <= share * 8 * entries if packed else result["stored_numbers"] <= share * entries
    elif budget.endswith("B"):
        within = result["stored_bytes"] <= int(budget[:-1])
    else:
        within = result["stored_bytes"] <= 8 * int(budget) if packed else result["stored_numbers"] <= int(budget)
    checker.expect(within, made, f"{command}: budget",
                   f"{result['stored_numbers']} numbers, {result['stored_bytes']} bytes for {budget} of {entries} entries")


def size_options(checker, method):
    """Draws the options for the size: a rank, a budget or a target error."""
    rng, least = checker.rng, min(checker.A.shape)
    kinds = {"exact": ["none"], "toeplitz": ["none", "budget"], "chord": ["none", "target"], "hierarchical": ["budget", "target"],
             "kronecker": ["budget", "target"], "butterfly": ["budget", "target"], "transform": ["budget", "target"], "wavelet": ["budget", "target"]}
    kind = rng.choice(kinds.get(method, ["rank", "budget", "target"]))
    if kind == "rank":
        return ["--rank", str(int(rng.integers(1, least + 1)))], None, None
    if kind == "budget":
        numbers = int(rng.integers(1, 2 * checker.A.size + 2))
        budget = rng.choice([str(numbers), f"{rng.uniform(1, 120):.3f}%", f"{8 * numbers}B"])
        return ["--budget", str(budget)], str(budget), None
    if kind == "target":
        target = float(rng.choice([0.5, 0.1, 1e-2, 1e-3, 1e-5, 1e-8]))
        return ["--target-error", str(target)], None, target
    return [], None, None


def method_options(checker, method):
    rng = checker.rng
    if method == "chord":
        return SHORT_CHORD + ["--pattern", str(rng.choice(["alternating", "mixed_radix", "reference", "paper", "torch"]))]
    if method == "truncated_svd":
        return ["--algorithm", str(rng.choice(["auto", "dense", "krylov", "randomized", "spectra"]))]
    if method == "cur":
        return ["--sampling", str(rng.choice(["pivoted_qr", "deim", "leverage", "norms", "uniform"]))]
    if method == "jl_projection":
        return ["--kind", str(rng.choice(["gaussian", "rademacher", "sparse", "srht"]))]
    if method == "nystrom":
        return ["--sampling", str(rng.choice(["pivoted_cholesky", "uniform", "leverage"]))]
    if method == "hierarchical":
        return [o for o in ("--outliers", "--toeplitz") if rng.uniform() < 0.4]
    return []


PRECISIONS = ("double", "double", "double", "float", "float16", "bfloat16", "packed")


def precision_of(checker, method):
    if method in ("exact", "hierarchical", "kronecker", "butterfly", "transform", "wavelet"):
        return "double"
    precision = str(checker.rng.choice(PRECISIONS))
    return "float" if precision == "packed" and method in ("jl_projection", "cur", "toeplitz") else precision


def kept_property(checker, method):
    kinds = {"truncated_svd": ["row_sums", "symmetric", "psd"], "nystrom": ["row_sums", "symmetric"], "cur": ["row_sums"]}
    if method not in kinds or not checker.case.is_square or checker.rng.uniform() < 0.7:
        return None
    kept = str(checker.rng.choice(kinds[method]))
    return kept if kept == "row_sums" or checker.case.is_symmetric else None


def check_kept(checker, made, path, kept):
    B = rebuild(path)
    length = float(checker.size) if checker.size > 0 else 1.0
    precise = made.document["results"][0]["storage_precision"] == "double"
    if kept == "row_sums" and precise:
        off = float(np.abs(B.sum(axis=1) - checker.A.sum(axis=1)).max()) / length
        checker.expect(off <= 1e-12 * len(B) + checker.grain(), made, "keep: row sums", f"off by {off:.3g} |A|")
    if (kept != "row_sums" or checker.case.is_symmetric) and precise:
        off = float(np.abs(B - B.T).max()) / length
        if kept != "row_sums" or "nystrom" in made.arguments:
            checker.expect(off <= 1e-13 * len(B) + checker.grain(), made, f"keep: symmetric ({kept})", f"off by {off:.3g} |A|")
    if kept == "psd":
        scaled = np.ldexp(B, -to_unit_scale(checker.case.A)[1]).astype(np.float64)
        least = np.linalg.eigvalsh((scaled + scaled.T) / 2)[0] / max(float(np.linalg.norm(scaled)), 1e-300)
        checker.expect(least >= -1e-3 if not precise else least >= -1e-12, made, "keep: psd", f"eigenvalue {least:.3g} |B|")


def check_approximation(checker, method):
    size, budget, target = size_options(checker, method)
    precision, extra, kept = precision_of(checker, method), method_options(checker, method), kept_property(checker, method)
    if precision == "packed" and method == "chord" and target:
        precision = "double"
    if kept:
        extra += ["--keep", kept]
    certify = ["--certify", "--confidence", "0.999999"] if checker.rng.uniform() < 0.3 else []
    path = checker.folder / f"{method}.h5"
    path.unlink(missing_ok=True)
    stored_as = ["--precision", precision] if precision != "double" else []
    made = checker.run("approximate", checker.matrix, method, "-o", path, *size, *stored_as, *extra, *certify)
    if not made:
        refused_without_cause(checker, method, precision, size, extra, target)
        return
    checker.check_head(made, "approximate")
    result = made.document["results"][0]
    if not checker.expect(path.exists(), made, "approximate: file", "there is none"):
        return
    true = check_error(checker, made, result, path, f"approximate {method}")
    if true is None:
        return
    check_bytes(checker, made, result, path, f"approximate {method}")
    if not kept:
        check_budget(checker, made, result, budget, f"approximate {method}")
    elif made.code == 0:
        check_kept(checker, made, path, kept)
    if target and made.code == 0 and not kept:
        checker.expect(true <= target * (1 + 1e-9), made, f"approximate {method}: target",
                       f"{true:.6g} where {target:g} was asked, exit code 0")
    if method == "truncated_svd" and not kept:
        check_truncated_svd(checker, made, result, path, true, precision, extra[1])
    if method == "cur" and not kept:
        check_cur(checker, made, path, true, precision)
    if method == "exact":
        checker.expect(np.array_equal(rebuild(path), checker.A), made, "exact: bits", "an entry differs")
    check_measure(checker, path, method)


def refused_without_cause(checker, method, precision, size, extra, target):
    """Fails a refusal of a truncated SVD or an exact store, which can always be made in doubles."""
    if checker.last.code < 0 or abs(checker.case.exponent) > 290:
        return
    whole = method == "exact" or (method == "truncated_svd" and precision == "double" and "--keep" not in extra and
                                  "--budget" not in size and "spectra" not in extra and (target or 1) >= 1e-5)
    if whole:
        made = checker.last
        checker.fail(made, f"approximate {method}: refused", f"exit code {made.code}: {made.error.strip()[-200:]}")


def check_measure(checker, path, method):
    norm = str(checker.rng.choice(["frobenius", "spectral"]))
    certify = ["--certify", "--norm", norm, "--confidence", "0.999999"] if checker.rng.uniform() < 0.5 else []
    made = checker.run("measure", path, checker.matrix, *certify)
    if made:
        checker.check_head(made, "measure")
        check_error(checker, made, made.document["results"][0], path, f"measure {method}")
        checker.expect("is not the matrix" not in made.error, made, "measure: fingerprint", made.error)
    elif checker.last.code == 2:
        checker.fail(checker.last, "measure: refused", checker.last.error.strip()[-200:])


def check_approximate(checker):
    for method in ("truncated_svd", "nystrom", "jl_projection", "cur", "chord", "hierarchical", "toeplitz", "kronecker", "butterfly", "transform", "wavelet", "exact"):
        check_approximation(checker, method)


# ---- best

def check_best(checker):
    for with_budget in (True, False):
        path = checker.folder / "best.h5"
        path.unlink(missing_ok=True)
        budget, target, norm = None, None, "frobenius"
        if with_budget:
            size = int(checker.rng.integers(1, 8 * checker.A.size + 1))
            budget = str(checker.rng.choice([f"{size}B", f"{checker.rng.uniform(0.5, 110):.3f}%"]))
        else:
            target = float(checker.rng.choice([0.3, 1e-2, 1e-4, 1e-7]))
            norm = str(checker.rng.choice(["frobenius", "spectral"]))
        options = ["--budget", budget] if budget else ["--target-error", target, "--norm", norm]
        made = checker.run("best", checker.matrix, *options, "-o", path)
        if not made:
            if not with_budget and checker.last.code >= 0 and abs(checker.case.exponent) < 290:
                checker.fail(checker.last, "best: refused", f"exit code {checker.last.code}: {checker.last.error.strip()[-200:]}")
            continue
        checker.check_head(made, "best")
        if checker.expect(path.exists(), made, "best: file", "there is none"):
            check_best_result(checker, made, path, budget, target, norm)


def check_best_result(checker, made, path, budget, target, norm):
    document = made.document
    result = document["result"]
    true = check_error(checker, made, result, path, "best")
    if true is None:
        return
    check_bytes(checker, made, result, path, "best")
    if budget:
        limit = document["budget_bytes"]
        asked = float(budget[:-1]) / 100 * 8 * checker.A.size if budget.endswith("%") else int(budget[:-1])
        checker.expect(limit <= asked * (1 + 1e-12) and result["stored_bytes"] <= limit, made, "best: budget",
                       f"{result['stored_bytes']} bytes where {asked} were asked, limit {limit}")
        checker.expect(true <= 1 + 1e-12, made, "best: worse than zero", f"error {true:.6g} |A|")
        return
    checker.expect((made.code == 0) == bool(document["target_is_met"]), made, "best: exit code",
                   f"{made.code} with target_is_met {document['target_is_met']}")
    if made.code != 0:
        # A itself in doubles reaches every target.
        checker.fail(made, "best: target", f"{target:g} is not reached, error {true:.6g}")
        return
    if norm == "spectral":
        E = np.ldexp(checker.A - rebuild(path), -to_unit_scale(checker.case.A)[1]).astype(np.float64)
        scaled = to_unit_scale(checker.case.A)[0]
        largest = np.linalg.norm(scaled, 2)
        true = float(np.linalg.norm(E, 2) / largest) if largest > 0 else float(np.linalg.norm(E, 2))
    checker.expect(true <= target * (1 + 1e-9), made, "best: target", f"{true:.6g} in the norm {norm} where {target:g} was asked")


# ---- All checks

CHECKS = {"solve": check_solve, "spectrum": check_spectrum, "approximate": check_approximate, "best": check_best}


def print_failures(checker, arguments):
    for check, text, made in checker.failures:
        print(f"FAIL {check}: {text}\n     {checker.case.name}\n     properties.py {arguments.program} --seed {checker.case.seed} "
              f"--only {checker.case.index} --checks {','.join(arguments.checks)}")
        if made is not None:
            print(f"     matapprox {shlex.join(made.arguments)}")
    sys.stdout.flush()


def check_matrix(arguments, index):
    case = generated_matrices.generate(arguments.seed, index)
    with tempfile.TemporaryDirectory() as scratch:
        checker = Checker(arguments.program, case, pathlib.Path(scratch), arguments.checks)
        for name in arguments.checks:
            CHECKS[name](checker)
        if checker.failures and arguments.keep:
            shutil.copytree(scratch, pathlib.Path(arguments.keep) / f"{case.seed}_{index}_{case.kind}", dirs_exist_ok=True)
    print_failures(checker, arguments)
    return checker


def names_of_checks(text):
    names = text.split(",")
    unknown = [name for name in names if name not in CHECKS]
    if unknown:
        raise argparse.ArgumentTypeError(f"{', '.join(unknown)} is not one of {', '.join(CHECKS)}")
    return names


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--count", type=int, default=300, help="how many matrices [300]")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="the matrix of this index alone")
    parser.add_argument("--checks", type=names_of_checks, default=list(CHECKS), help=f"of {', '.join(CHECKS)} [all]")
    parser.add_argument("--keep", metavar="FOLDER", help="keep the files of matrices with failures here")
    arguments = parser.parse_args()
    begin, failed, runs, slowest = time.monotonic(), collections.Counter(), 0, (0.0, "")
    indices = [arguments.only] if arguments.only is not None else range(arguments.count)
    for index in indices:
        checker = check_matrix(arguments, index)
        failed.update(check for check, _, _ in checker.failures)
        runs += checker.runs
        slowest = max(slowest, checker.slowest)
    for check, count in sorted(failed.items()):
        print(f"{count:5d} {check}")
    print(f"{len(indices)} matrices, {runs} runs, {sum(failed.values())} failures; {cpu_of_children():.0f} s of CPU time in "
          f"{time.monotonic() - begin:.0f} s, the longest run {slowest[0]:.1f} s: {slowest[1]}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
