#!/usr/bin/env python3
"""Truncated SVD errors of the paper's matrices against LAPACK reference values.

    paper_tsvd.py PROGRAM MATRICES [--only SUBSTRING] [--max-order N]

Runs `PROGRAM compare FILE --methods truncated_svd --rank R --json OUT` for each row of table1.csv and
reference_tsvd.csv in the folder MATRICES and compares the absolute Frobenius error with the file's
`tsvd_error`: relative difference 1e-8 or less, 1e-6 for MiniBooNE (its error lies nine digits below its
norm). Exit status 0 if all agree, 1 if one does not, 77 (skipped) if MATRICES is not there.
"""
import argparse
import csv
import json
import pathlib
import subprocess
import sys
import tempfile


def reference_rows(folder):
    """(file, n, rank, error) of both tables, each file once."""
    seen = {}
    for name in ("table1.csv", "reference_tsvd.csv"):
        with open(folder / name, newline="") as table:
            for row in csv.DictReader(table):
                seen[row["file"]] = (int(row["n"]), int(row["rank"]), float(row["tsvd_error"]))
    return [(file, *values) for file, values in seen.items()]


def measured_error(program, path, rank):
    """Returns the absolute Frobenius error that the program prints, and whether the program calls it exact."""
    with tempfile.TemporaryDirectory() as scratch:
        out = pathlib.Path(scratch) / "result.json"
        command = [program, "compare", str(path), "--methods", "truncated_svd", "--rank", str(rank),
                   "--json", str(out), "--quiet", "--exact-error"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        rows = json.loads(out.read_text())["results"]
    row = next(r for r in rows if r["method"] == "truncated_svd" and r["status"] == "ok")
    return row["error_frobenius"], row["error_is_exact"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("matrices", type=pathlib.Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--max-order", type=int, default=10**9)
    options = parser.parse_args()
    if not (options.matrices / "table1.csv").exists():
        print(f"skipped: {options.matrices} does not hold the paper's matrices")
        return 77
    failures = count = 0
    for file, order, rank, expected in reference_rows(options.matrices):
        if options.only not in file or order > options.max_order:
            continue
        error, exact = measured_error(options.program, options.matrices / file, rank)
        difference = abs(error - expected) / expected
        limit = 1e-6 if "MiniBooNE" in file else 1e-8
        good = exact and difference <= limit
        count += 1
        failures += not good
        print(f"{'ok  ' if good else 'FAIL'} {file:40s} n {order:5d} rank {rank:3d} "
              f"error {error:.10g} reference {expected:.10g} relative difference {difference:.1e}", flush=True)
    print(f"{count - failures} passed, {failures} failed")
    return 1 if failures or not count else 0


if __name__ == "__main__":
    sys.exit(main())
