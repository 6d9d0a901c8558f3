#!/usr/bin/env python3
"""Checks the saved factors of every method with an independent reader.

    saved_factors.py PROGRAM MATRIX... [--rebuild SCRIPT]

For each matrix: `PROGRAM compare MATRIX --save DIR --json FILE`. Then for each saved file `PROGRAM measure` must give
the printed error (1e-12 |A|), and SCRIPT (rebuild_approximation.py, which uses NumPy and h5py and is based on docs/
alone) must rebuild the approximation and find the same error (1e-10 |A|). Exit status 0 if all agree.
"""
import argparse
import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile


def load_rebuilder(path):
    specification = importlib.util.spec_from_file_location("rebuild_approximation", path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def check_matrix(program, matrix, rebuilder, extra):
    import h5py
    import numpy

    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        report = scratch / "compare.json"
        subprocess.run([program, "compare", matrix, "--save", str(scratch), "--json", str(report), "--quiet",
                        "--exact-error", *extra], check=True, stdout=subprocess.DEVNULL)
        comparison = json.loads(report.read_text())
        norm = comparison["matrix"]["frobenius_norm"]
        dense = rebuilder.read_matrix(matrix)
        rows = []
        for row in comparison["results"]:
            if row["method"] == "as_is" or row["status"] != "ok":
                continue
            saved = pathlib.Path(row["saved_to"])
            measured = json.loads(subprocess.run(
                [program, "measure", str(saved), matrix, "--json", "-", "--exact-error", "--quiet"], check=True,
                capture_output=True, text=True).stdout)["results"][0]["error_frobenius"]
            with h5py.File(saved, "r") as file:
                rebuilt = float(numpy.linalg.norm(dense - rebuilder.rebuild(file)))
            ours = abs(measured - row["error_frobenius"]) / norm
            theirs = abs(rebuilt - row["error_frobenius"]) / norm
            rows.append((row["method"], row["error_frobenius"] / norm, ours, theirs))
        return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("matrices", nargs="+")
    parser.add_argument("--rebuild", default=str(pathlib.Path(__file__).parent.parent / "reference" /
                                                 "rebuild_approximation.py"))
    parser.add_argument("--set", action="append", default=[])
    options = parser.parse_args()
    extra = [part for text in options.set for part in ("--set", text)]
    rebuilder = load_rebuilder(options.rebuild)
    passed = failed = 0
    for matrix in options.matrices:
        for method, relative, ours, theirs in check_matrix(options.program, matrix, rebuilder, extra):
            good = ours <= 1e-12 and theirs <= 1e-10
            passed += good
            failed += not good
            print(f"{'ok  ' if good else 'FAIL'} {pathlib.Path(matrix).name:24s} {method:24s} relative error "
                  f"{relative:.3e}  measure {ours:.1e} |A|  independent {theirs:.1e} |A|", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
