"""Code shared by the benchmark scripts: their options, runs of our programs, and the JSON that they write."""
import argparse
import json
import os
import subprocess
from pathlib import Path


def parser(documentation, program=None, rounds=None):
    """Returns a parser with the options that all scripts have, and --program and --rounds for those that name a default."""
    made = argparse.ArgumentParser(description=documentation, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--json", type=Path, help="also write the results to this file")
    made.add_argument("--small", action="store_true", help="tiny sizes, for a quick test")
    if program:
        made.add_argument("--program", default=f"build/default/bin/{program}")
    if rounds:
        made.add_argument("--rounds", type=int, default=rounds)
    return made


def write(options, document):
    """Prints the results as JSON, and writes them to the file of --json."""
    text = json.dumps(document, indent=1, ensure_ascii=False)
    print(text)
    if options.json:
        options.json.write_text(text + "\n", encoding="utf-8")


def command_json(program, *arguments, stdin=None):
    """Returns the JSON of a command of our program; ends the script with its message if it fails."""
    command = [str(program), *map(str, arguments), "--quiet", "--json", "-"]
    done = subprocess.run(command, stdin=stdin, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
    return json.loads(done.stdout)


def benchmarks(program, names, threads, seconds):
    """Returns the rows of Google Benchmark by name, of runs that take at least these seconds each."""
    pattern = "^(" + "|".join(names) + ")/real_time$"
    done = subprocess.run([program, f"--benchmark_filter={pattern}", "--benchmark_format=json", f"--benchmark_min_time={seconds}"],
                          capture_output=True, text=True, check=True, env={**os.environ, "MATAPPROX_THREADS": str(threads)})
    rows = {row["name"].removesuffix("/real_time"): row for row in json.loads(done.stdout)["benchmarks"]}
    for name in names:
        if name not in rows or rows[name].get("error_occurred"):
            raise SystemExit(f"{program}: {name}: {rows.get(name, {}).get('error_message', 'there is no such benchmark')}")
    return rows


def set_blas_core():
    """Sets the core type of the peers' OpenBLAS that fits this CPU, and returns it: OpenBLAS recognizes few of the newer CPUs by
    number. To be called before NumPy is imported."""
    cpus = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    flags = next((line for line in cpus.split("\n") if line.startswith("flags")), "").split()
    core = "SkylakeX" if "avx512dq" in flags else ("Zen" if "AuthenticAMD" in cpus else "Haswell") if "avx2" in flags else None
    if core:
        os.environ.setdefault("OPENBLAS_CORETYPE", core)
    return os.environ.get("OPENBLAS_CORETYPE")
