#!/usr/bin/env python3
"""A fit that is killed at random moments loses nothing that it had written.

    kill_and_resume.py PROGRAM MATRIX [--kills 20] [--seed 1] [OPTION ...]

Runs one Chord fit to its end (with the OPTIONs, after --). Then starts the same fit again and again with
--checkpoint-seconds 1, kills it with SIGKILL at a random moment after its first checkpoint, and checks that
the file loads and that a new measurement agrees with the error it states. Finally each killed fit is resumed:
its factors must equal those of the uninterrupted fit bit for bit (compared as exported NumPy archives, byte for
byte per array). Exit status 0 if everything holds.
"""
import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import time
import zipfile


def run(command, **keywords):
    return subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True, **keywords)


def factors(program, saved, scratch):
    """All arrays of a saved approximation as bytes, by name."""
    archive = scratch / (saved.stem + ".npz")
    run([program, "export", saved, archive, "--force"])
    with zipfile.ZipFile(archive) as members:
        return {name: members.read(name) for name in members.namelist() if "meta" not in name}


def relative_difference(program, saved, matrix):
    """Difference between the stated error of the file and a new measurement, relative to the norm of the matrix."""
    stated = json.loads(run([program, "info", saved, "--json", "-"]).stdout)["error_frobenius"]
    fresh = json.loads(run([program, "measure", saved, matrix, "--json", "-", "--exact-error"]).stdout)
    error = fresh["results"][0]["error_frobenius"]
    return abs(stated - error) / fresh["matrix"]["frobenius_norm"]


def fit_command(options, output):
    return [options.program, "approximate", options.matrix, "chord", "-o", output,
            "--checkpoint-seconds", 1, "--quiet", *options.options]


def kill_one(options, output, moments):
    """Starts a fit, waits for its first checkpoint and a random time, then kills it. Returns the seconds it ran."""
    output.unlink(missing_ok=True)
    process = subprocess.Popen([str(p) for p in fit_command(options, output)], stderr=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL)
    start = time.monotonic()
    while not output.exists():
        if process.poll() is not None:
            raise SystemExit("the fit ended before its first checkpoint: make it longer")
        time.sleep(0.01)
    time.sleep(moments.uniform(0, options.within))
    process.kill()
    process.wait()
    return time.monotonic() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("matrix")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--resumes", type=int, default=10**9, help="how many of the killed fits to resume")
    parser.add_argument("--within", type=float, default=0, help="kill within this many seconds; 0: the whole fit")
    parser.add_argument("--seed", type=int, default=1)
    split = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    options = parser.parse_args(sys.argv[1:split])
    options.options = sys.argv[split + 1:]
    moments = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        whole = scratch / "whole.h5"
        start = time.monotonic()
        run(fit_command(options, whole))
        seconds = time.monotonic() - start
        print(f"uninterrupted fit: {seconds:.1f} s", flush=True)
        options.within = options.within or max(0.5, seconds - 3)
        expected = factors(options.program, whole, scratch)
        failures = 0
        for kill in range(options.kills):
            output = scratch / "killed.h5"
            ran = kill_one(options, output, moments)
            difference = relative_difference(options.program, output, options.matrix)
            good = difference <= 1e-12
            text = f"kill {kill + 1}: after {ran:.1f} s, stated error re-measured to {difference:.1e} |A|"
            if kill < options.resumes:
                run([*fit_command(options, output), "--resume"])
                same = factors(options.program, output, scratch) == expected
                good = good and same
                text += ", resumed to the same bits" if same else ", RESUMED TO OTHER BITS"
            failures += not good
            print(("ok   " if good else "FAIL ") + text, flush=True)
    print(f"{options.kills - failures} passed, {failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
