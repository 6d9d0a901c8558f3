#!/usr/bin/env python3
"""Runs every script of scripts/bench on tiny sizes, and the recipes of the tables that use them.

    bench_scripts.py PROGRAM [--bench MATAPPROX_BENCH] [--python PYTHON ...] [SCRIPT ...]

A script runs with the first Python (this one, then those named) that has the packages it needs. If none has them, or a
program is not built, the script is skipped and the reason is printed. Exit status 0 if none failed, 77 if all were
skipped. Speed is not checked: `scripts/figures measure` is for that.
"""
import argparse
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
NUMPY, SCIPY = ["numpy"], ["numpy", "scipy"]
SKLEARN = ["numpy", "scipy", "sklearn", "h5py", "threadpoolctl"]

# Script, and its case if it has several: its other arguments beside --small and --json, and its requirements: Python modules and,
# in braces, programs.
SCRIPTS = {
    "attention": (["--program", "{program}", "--no-torch", "--threads"], ["{attention}"]),
    "attention_peers": (["--program", "{program}"], ["{attention}", "torch", "safetensors"]),
    "attention_tasks": (["--program", "{program}", "--folder", "{folder}/runs"], ["{attention}"]),
    "chord": (["--program", "{bench}"], ["{bench}", *SCIPY]),
    "cuda_torch": ([], ["torch"]),
    "digits": (["{folder}/digits"], ["sklearn"]),
    "large_kernel": (["--program", "{program}"], NUMPY),
    "structure": (["--program", "{program}"], ["numpy", "imagecodecs", "zstandard"]),
    "packed_peers": (["{program}", "1", "1"], [*SKLEARN, "PIL", "zfpy", "pysz", "pyfaust"]),
    "packed_product": (["--program", "{bench}", "--rounds", "1"], ["{bench}", *SCIPY, "threadpoolctl"]),
    "python_binding": (["--program", "{program}"], [*SCIPY, "matapprox"]),
    "python_peers": ([], [*SKLEARN, "fbpca", "primme", "pyfaust", "matapprox"]),
    "streams": (["--program", "{program}"], NUMPY),
    **{f"peers {case}": (["--program", "{program}", "--rounds", "1"], SKLEARN)
       for case in ("nystrom", "truncated_svd", "scale_free", "whole_command")},
    "peers matrix_market": (["--program", "{bench}", "--rounds", "1"], ["{bench}", *SKLEARN]),
}
WITHOUT_JSON = {"cuda_torch"}
NO_SCRIPTS = {"common"}  # code that scripts share
# Tables of docs/benchmarks.md that scripts/figures makes with these scripts.
RECIPES = {
    "peers": ["{bench}", *SKLEARN],
    "speed": ["{bench}", *SCIPY],
    "speed_avx2": ["{bench}", *SCIPY],
    "large_kernel_long": NUMPY,
}


class Skipped(Exception):
    """A script is skipped; the message is the reason."""


def python_with(modules, pythons):
    for python in pythons:
        if subprocess.run([python, "-c", f"import {', '.join(modules or ['sys'])}"], capture_output=True, check=False).returncode == 0:
            return python
    raise Skipped(f"no Python here has all of {', '.join(modules)}")


def python_for(needs, programs, pythons):
    for name in needs:
        if name.startswith("{") and not programs[name[1:-1]]:
            raise Skipped(f"matapprox_{name[1:-1]} is not built")
    return python_with([name for name in needs if not name.startswith("{")], pythons)


def execute(command):
    environment = dict(os.environ, OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", PYTHONDONTWRITEBYTECODE="1")
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=500, check=False)
    if done.returncode == 77:
        raise Skipped(done.stdout.strip().removeprefix("skipped: "))
    if done.returncode != 0:
        raise RuntimeError(f"exit status {done.returncode}\n{done.stdout[-500:]}\n{done.stderr[-2000:]}")


def run_script(name, programs, pythons, folder):
    arguments, needs = SCRIPTS[name]
    python = python_for(needs, programs, pythons)
    filled = [text.format(folder=folder, **programs) for text in arguments]
    out = folder / f"{name}.json"
    script, *case = name.split()
    execute([python, str(ROOT / f"scripts/bench/{script}.py"), *case, *filled, "--small",
             *([] if name in WITHOUT_JSON else ["--json", str(out)])])
    if name not in WITHOUT_JSON and not json.loads(out.read_text(encoding="utf-8")):
        raise RuntimeError("its JSON is empty")


def run_recipe(name, programs, pythons, folder):
    python = python_for(RECIPES[name], programs, pythons)
    if not (ROOT / ".git").exists():
        raise Skipped("scripts/figures names a commit, and this is no checkout of git")
    execute([sys.executable, str(ROOT / "scripts/figures"), "measure", name, "--small", "--python", python, "--program",
             programs["program"], "--results", str(folder)])
    document = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    if not document["rows"] or any(len(row) != len(document["columns"]) for row in document["rows"]):
        raise RuntimeError(f"not a table: {document}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("names", nargs="*", metavar="SCRIPT")
    parser.add_argument("--bench", default="", help="matapprox_bench, where it is built")
    parser.add_argument("--python", action="append", default=[], help="another Python, which may have what this one lacks")
    options = parser.parse_intermixed_args()
    options.program = str(pathlib.Path(options.program).resolve())
    options.bench = options.bench and str(pathlib.Path(options.bench).resolve())
    attention = pathlib.Path(options.program).parent / "matapprox-attention"
    programs = {"program": options.program, "bench": options.bench, "attention": str(attention) if attention.exists() else ""}
    pythons = [sys.executable, *(python for python in options.python if pathlib.Path(python).exists())]
    runs = [(name, name, run_script) for name in SCRIPTS] + [(f"recipe {name}", name, run_recipe) for name in RECIPES]
    known = {name.split()[0] for name in SCRIPTS} | NO_SCRIPTS
    passed, failed, skipped = 0, 0, 0
    for file in sorted((ROOT / "scripts/bench").glob("*.py")):
        if file.stem not in known:
            print(f"FAIL {file.stem}: this test has no line for it")
            failed += 1
    for title, name, call in runs:
        if options.names and not {name, *name.split()} & set(options.names):
            continue
        with tempfile.TemporaryDirectory() as scratch:
            try:
                call(name, programs, pythons, pathlib.Path(scratch))
                passed += 1
                print(f"ok   {title}", flush=True)
            except Skipped as reason:
                skipped += 1
                print(f"skip {title}: {reason}", flush=True)
            except (RuntimeError, OSError, ValueError, KeyError, subprocess.TimeoutExpired) as error:
                failed += 1
                print(f"FAIL {title}: {error}", flush=True)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{passed} passed, {failed} failed, {skipped} skipped; {used.ru_utime + used.ru_stime:.0f} s of CPU time")
    return 1 if failed else 0 if passed else 77


if __name__ == "__main__":
    sys.exit(main())
