"""Tables of docs/benchmarks.md and docs/methods.md, and the commands shown with their output."""
import csv
import json
import os
import random
import re
import statistics
import subprocess
import time

from .kept import ROOT, Missing, by_hand, figure, grouped, listed, markdown, percent, rounded, short, source_line, table, with_source

# Commands and their output


def printed(name):
    """Returns a view: the commands of an example and their output, as one block."""

    def view(document):
        blocks = [f"$ {command['command']}\n{command['output']}".rstrip() for command in document["examples"][name]]
        return "```\n" + "\n\n".join(blocks) + f"\n```\n\n{source_line(document)}"

    return view


EXAMPLES = {
    "best": ["best matrices/scene.png --budget 3% --explain"],
    "compare": ["compare matrices/clusters.csv --as kernel"],
    "saved": ["approximate matrices/clusters.csv nystrom --as kernel --rank 60 -o kernel.h5",
              "measure kernel.h5 matrices/clusters.csv --as kernel",
              "apply kernel.h5 matrices/clusters.csv -o product.npy", "export kernel.h5 kernel.mat", "info kernel.h5"],
}


@figure("examples", "1", {f"examples.{name}": printed(name) for name in EXAMPLES}, timed=True)
def examples(context):
    folder = context.scratch("examples")
    for file in folder.iterdir():
        file.unlink()
    (folder / "matrices").symlink_to(ROOT / "matrices")
    shown = {}
    for name, commands in EXAMPLES.items():
        shown[name] = []
        for command in commands:
            context.say("matapprox", command)
            # Both streams in the order in which a terminal shows them.
            done = subprocess.run([str(context.program), *command.split()], cwd=folder, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, check=True)
            shown[name].append({"command": f"matapprox {command}", "output": done.stdout.strip("\n")})
    return {"examples": shown}


# Coverage of certificates and intervals


def certificate_table(document):
    rows = []
    for name, row in document["rows"].items():
        cells = [f"{percent(row[f'{norm}_failures_{delta}'])}, {row[f'{norm}_median_{delta}']:.2f}"
                 for norm in ("frobenius", "spectral") for delta in ("0.05", "0.01")]
        rows.append([name, *cells, f"{percent(row['interval_above'])}, {percent(row['interval_below'])}"])
    titles = ["singular values", "Frobenius, δ = 5 %", "δ = 1 %", "spectral, δ = 5 %", "δ = 1 %", "interval above, below it"]
    return with_source(f"{grouped(document['trials'])} trials:\n\n{markdown(titles, rows)}", document)


@figure("certificate", "2", {"certificate": certificate_table})
def certificate(context):
    out = context.scratch("certificate") / "trials.json"
    out.unlink(missing_ok=True)
    program = context.program.parent / "matapprox_measure_tests"
    if not program.exists():
        raise Missing(f"{program}: a build with tests")
    context.say(program.name, "--gtest_filter=*Coverage.*")
    subprocess.run([str(program), "--gtest_filter=CertificateCoverage.*:IntervalCoverage.*"], check=True, stdout=subprocess.DEVNULL,
                   env={**os.environ, "MATAPPROX_TRIALS": "2000", "MATAPPROX_TRIALS_JSON": str(out)})
    return json.loads(out.read_text())


# The matrices of this repository

METHODS = ["truncated_svd", "truncated_svd_symmetric", "nystrom", "jl_projection", "cur", "chord", "chord_auto"]


def matrices_table(document):
    rows = []
    for row in document["rows"]:
        errors = [row[name] for name in METHODS]
        least = short(min(error for error in errors if error is not None))
        rows.append([row["matrix"], row["n"], row["as_is"], row["budget"],
                     *(f"**{short(error)}**" if error is not None and short(error) == least else short(error)
                       for error in errors)])
    return with_source(markdown(["matrix", "N", "as it is", "budget", "SVD", "SVD, symmetric", "Nyström", "JL", "CUR",
                                 "Chord", "Chord, `auto`"], rows), document)


@figure("matrices", "2", {"matrices": matrices_table})
def matrices(context):
    rows = []
    with open(ROOT / "matrices/index.csv", encoding="utf-8") as index:
        for entry in csv.DictReader(index):
            command = ["compare", f"matrices/{entry['file']}", "--as", entry["load_as"]]
            document = context.json(*command)
            found = {result["method"]: result for result in document["results"]}
            found["chord_auto"] = context.json(*command, "--methods", "chord", "--set", "chord.pattern=auto")["results"][-1]
            kind = "" if entry["load_as"] == "matrix" else f" `--as {entry['load_as']}`"
            rows.append({"matrix": f"`{entry['file']}`{kind}", "n": document["matrix"]["rows"],
                         "as_is": found["as_is"]["stored_numbers"], "budget": found["chord"]["stored_numbers"],
                         **{name: rounded(found.get(name, {}).get("relative_error")) for name in METHODS}})
    return {"rows": rows}


# Matrices that were not used to choose settings

UNSEEN = ["karate", "west0067", "arc130", "netz4504_dual", "sherman1", "orsirr_1", "stufe", "can_1072", "bcsstk08",
          "bcsstk10", "1138_bus", "jagmesh7"]


def unseen_table(document):
    rows = [[row["name"] + (" (no compression)" if row["no_compression"] else ""), row["n"], row["nonzeros"],
             row["stored"], short(row["tsvd"]), short(row["reference"]), short(row["auto"]), row["auto_form"]]
            for row in document["rows"]]
    return with_source(markdown(["matrix", "N", "nonzeros", "SF stores", "TSVD, paper's rank", "SF, reference",
                                 "SF, best pattern and order", "form"], rows), document)


def unseen_summary(document):
    ratios = [row["auto"] / row["reference"] for row in document["rows"]]
    return (f"The median of the {len(ratios)} ratios of the error with `--pattern auto` to that with the reference pattern "
            f"is {short(statistics.median(ratios))}, the largest {short(max(ratios))}.")


@figure("unseen", "8", {"unseen": unseen_table, "unseen.summary": unseen_summary})
def unseen(context):
    rows = []
    for name in UNSEEN:
        file = context.suitesparse(name)
        found = context.json("info", file)["matrix"]
        n = found["rows"]
        levels = (n - 1).bit_length()
        tsvd = context.fit(file, "truncated_svd", "--rank", (levels * levels + 1) // 2)
        reference = context.fit(file, "chord", "--pattern", "reference")
        auto = context.fit(file, "chord", "--pattern", "auto", "--threads", "2")
        rows.append({"name": name, "n": n, "nonzeros": found["nonzeros"], "stored": reference["stored_numbers"],
                     "no_compression": reference["no_compression"], "tsvd": rounded(tsvd["relative_error"]),
                     "reference": rounded(reference["relative_error"]), "auto": rounded(auto["relative_error"]),
                     "auto_form": auto["form"]})
    return {"rows": rows}


# Kernel matrices


def grid_points(context, side):
    """Writes one uniformly random point per cell of a side x side grid of the unit square."""
    file = context.scratch("points") / f"grid-{side}.csv"
    draws = random.Random(1)
    with open(file, "w", encoding="utf-8") as out:
        for row in range(side):
            for column in range(side):
                out.write(f"{(row + draws.random()) / side:.8f},{(column + draws.random()) / side:.8f}\n")
    return file


@figure("time_to_error", "1", timed=True)
def time_to_error(context):
    orders, numbers, seconds = [], [], []
    for side in (16, 24, 32, 48, 64):
        result = context.fit(grid_points(context, side), "chord", "--as", "kernel", "--kernel", "matern32", "--bandwidth",
                             1.28 / side, "--pattern", "mixed_radix", "--symmetrize", "--effort", "fast", "--target-error",
                             "0.1", "--threads", "2")
        orders.append(str(side * side))
        numbers.append(grouped(result["stored_numbers"]))
        seconds.append(f"{result['fit_seconds']:.2g}")
    return table(["N", *orders], [["numbers", *numbers], ["seconds to 0.1, exact", *seconds]])


@figure("matern", "6")
def matern(context):
    kernel = [grid_points(context, 64), "chord", "--as", "kernel", "--kernel", "matern32", "--bandwidth", "0.02"]
    chord = context.fit(*kernel, "--pattern", "mixed_radix", "--symmetrize", "--effort", "fast", "--max-seconds", "280",
                        "--exact-error")
    kernel[1] = "truncated_svd"
    low_rank = context.fit(*kernel, "--symmetric-storage", "--budget", chord["stored_numbers"], "--exact-error")
    return table(["method", "numbers", "relative error, exact"],
                 [[title, grouped(fit["stored_numbers"]), f"{fit['relative_error']:.3f}"]
                  for title, fit in (("`chord`, `mixed_radix`, symmetrized", chord), ("symmetric TSVD", low_rank))])


def test_error(result):
    """Returns the error on the test columns with its interval, from the fit's message."""
    found = re.search(r"relative error (\S+) \(95 %: (\S+) \.\. (\S+)\)", result["message"])
    return "{:.3g} ({:.3g} .. {:.3g})".format(*map(float, found.groups())) if found else ""


KERNELS = [
    ("2048, 2560 steps on 32 columns", 2048, ["--pattern", "reference", "--columns-per-step", "32"]),
    ("5000, start and one step", 5000, ["--pattern", "reference", "--adam-steps", "1"]),
    ("5000, 1500 steps", 5000, ["--pattern", "reference", "--adam-steps", "1500"]),
    ("5000, `alternating`, 1500 steps", 5000, ["--pattern", "alternating", "--adam-steps", "1500"]),
    ("5000, `mixed_radix`, 1500 steps", 5000, ["--pattern", "mixed_radix", "--adam-steps", "1500"]),
    ("20,000, start and one step", 20000, ["--pattern", "reference", "--adam-steps", "1"]),
]


def kernel_rows(context, kernels, *settings):
    rows = []
    for title, points, options in kernels:
        found = {row["method"]: row for row in
                 context.script("large_kernel", "--program", context.program, "--points", points, *settings,
                                "--", *options, needs=["numpy"])["results"]}

        def error(name):
            row = found[name]
            return f"{row['relative_error']:.4f}" + (" (exact)" if row["error_is_exact"] else "")

        def mebibytes(name):
            return f"{found[name]['peak_memory_bytes'] / 2**20:.0f} MiB"

        rows.append([title, f"{grouped(found['chord']['stored_numbers'])} ({100 * found['chord']['storage_share']:.2g} % of N²)",
                     error("chord"), test_error(found["chord"]),
                     f"{float(format(found['chord']['fit_seconds'], '.2g')):g} s, {mebibytes('chord')}",
                     f"{error('nystrom')}, {mebibytes('nystrom')}", f"{error('truncated_svd')}, {mebibytes('truncated_svd')}"])
    return table(["N", "numbers", "Chord", "on 256 columns", "fit, peak memory", "Nyström", "symmetric TSVD"], rows)


@figure("large_kernel", "3", timed=True)
def large_kernel(context):
    return kernel_rows(context, KERNELS)


LONG_KERNELS = [("20,000, 3000 steps", 20000, ["--pattern", "reference", "--adam-steps", "3000"]),
                ("65,536, 200 steps", 65536, ["--pattern", "reference", "--adam-steps", "200"])]


@figure("large_kernel_long", "60", slow=True, timed=True)
def large_kernel_long(context):
    return kernel_rows(context, LONG_KERNELS, "--randomized")


@figure("streams", "3", timed=True)
def streams(context):
    rows = []
    for row in context.script("streams", "--program", context.program, needs=["numpy"])["results"]:
        low, high = (end / row["best"] for end in row["error_interval"])
        rows.append([row["spectrum"], f"{row['best'] / row['norm']:.3g}", f"{row['svd'] / row['best']:.4f}",
                     f"{row['sketch'] / row['best']:.2f}", f"{row['error_frobenius'] / row['best']:.2f} ({low:.2f} .. {high:.2f})",
                     f"{row['rows_per_second']:.0f}", f"{row['finish_seconds']:.2f} s",
                     f"{row['peak_memory_bytes'] / 2**20:.0f} MiB", f"{row['memory_bound_bytes'] / 2**20:.0f} MiB"])
    return table(["singular values", "best error, of \\|A\\|", "SVD", "sketch", "its estimate (95 %)", "rows/s", "finishing", "peak memory",
                  "formula"], rows)


# Kernels of the fit


def speed_table(context):
    document = context.script("chord", "--program", context.bench, "--rounds", 3, needs=["numpy", "scipy"])
    times, threads = document["times"], document["threads"]

    def ms(name):
        return short(times[name]["least"])

    gemm = "gemm_rate/m:1024/n:1024/k:1024/transposed:0"
    rate = 2.0 * 1024**3 / min(times[gemm]["least"], times["blas_" + gemm.replace("/transposed:0", "")]["least"])
    rows = []
    for n in (256, 1024, 4096):
        name = f"chord_objective_rate<double>/n:{n}/columns:0"
        levels, links = (n - 1).bit_length(), n.bit_length()
        share = 6.0 * n * n * levels * links / times[name]["least"] / rate
        rows.append([f"objective and gradient, N = {n}, double", f"{ms(name)} (float {ms(name.replace('double', 'float'))})",
                     f"{share:.0%}".replace("%", " %") + f" of the rate of the fastest dgemm ({rate / 1e6:.1f} GF/s)"])
    vector, block = (f"chord_product<float>/n:16384/columns:{columns}/transposed:0" for columns in (1, 64))
    read = times["chord_read_values/n:16384"]["least"]
    rows.append(["chain × vector, N = 16,384, float", ms(vector),
                 f"{times[vector]['least'] / read:.2f} × the time to read the 13.8 MB of weights"])
    rows.append(["chain × 64 columns, N = 16,384, float", ms(block),
                 f"Eigen {ms('chord_eigen_product<float>/n:16384/columns:64')}, SciPy {ms('SciPy 64')}"])
    large = "chord_product<float>/n:1048576/columns:1/transposed:0"
    if large in times:
        rows.append(["chain × vector, N = 2²⁰, float", ms(large),
                     f"{times[large]['least'] / times['chord_read_values/n:1048576']['least']:.2f} × the time to read the "
                     "1762 MB of weights"])
    titles = {vector: "a vector", block: "64 columns", "chord_objective_rate<double>/n:256/columns:0": "evaluation at N = 256",
              "chord_objective_rate<double>/n:1024/columns:0": "at N = 1024"}
    rows.append(["two threads against one", "",
                 ", ".join(f"{titles[name]} {both['one'] / both['two']:.2f} ×" for name, both in threads.items())])
    rows.append(["growth with N: slope of log time against log N", "",
                 "; ".join(f"{each['label']} {each['measured']:.2f} (theory {each['theory']:.2f})" for each in document["slopes"])])
    return table(["work", "ms", "beside it"], rows)


@figure("speed", "4", timed=True)
def speed(context):
    return speed_table(context)


@figure("speed_avx2", "4", slow=True, timed=True)
def speed_avx2(context):
    found = context.json("doctor")["instruction_set"]
    if found != "AVX2" and not context.small:
        raise Missing(f"a CPU with AVX2 and without AVX-512; this one has {found}")
    return speed_table(context)


# Measured on a machine with a GPU: docs/cuda.md.
by_hand("cuda_products", "3")
by_hand("cuda_profile", "3")
by_hand("cuda_peers", "3")
by_hand("cuda_programs", "2")
by_hand("cuda_products_h100", "1")
by_hand("cuda_peers_h100", "1")

def packed_speed_table(document):
    rows = []
    for row in document["rows"]:
        threads, dgemv, read = row["threads"], row["dgemv"], row["read_rate"]
        least = min(dgemv.values())
        rows.append([threads, "8192 x 8192, doubles", f"{dgemv['own']:.1f} (SciPy {dgemv['scipy']:.1f})", "-", "-"])
        for bits, found in row["packed"].items():
            rows.append([threads, f"8192 x 8192, {bits} bits", f"{found['ms']:.2f}", f"{least / found['ms']:.1f}", f"{read / found['rate']:.1f}"])
        for digits, found in row["blocks"].items():
            rows.append([threads, f"`hierarchical`, N = 4096, error 1e-{digits}", f"{found['ms']:.3f}", "-", f"{read / found['rate']:.1f}"])
    titles = ["threads", "matrix", "ms", "times as fast as dgemv", "times as long as reading its bytes"]
    return with_source(markdown(titles, rows), document)


@figure("packed_speed", "2", {"packed_speed": packed_speed_table}, timed=True)
def packed_speed(context):
    return context.script("packed_product", "--program", context.bench, "--rounds", 3, needs=["numpy", "scipy", "threadpoolctl"])


# Comparison of engines

ENGINES = [("mesh2d", 20), ("parter", 20), ("block_model", 20), ("1138_bus", 30), ("west0067", 15), ("netz4504_dual", 30)]


@figure("svd_engines", "1", timed=True)
def svd_engines(context):
    rows = []
    for name, rank in ENGINES:
        own = ROOT / f"matrices/{name}.mtx"
        file = own if own.exists() else context.suitesparse(name)
        engines = ["dense", "krylov", "spectra"]
        seconds = {engine: [] for engine in engines}
        for _ in range(5):
            for engine in engines:
                seconds[engine].append(context.fit(file, "truncated_svd", "--rank", rank, "--algorithm", engine, "--threads",
                                                   1)["fit_seconds"])
        order = context.json("info", file)["matrix"]["rows"]
        rows.append([name, order, rank, *(f"{statistics.median(seconds[engine]):.3g}" for engine in engines)])
    return table(["matrix", "order", "rank", "`dense`", "`krylov`", "`spectra`"], rows)


SOLVERS = [("Sawmill", "Sawmill", "--pattern reference"), ("Mesh1e1", "mesh1e1", "--pattern reference"),
           ("Covertype", "covtype", "--pattern reference"), ("Worldtrade", "worldtrade", "--pattern reference"),
           ("AuraSonar", "AuraSonar", "--pattern reference"), ("Scotland", "Scotland", "--pattern reference"),
           ("`ar1.mtx`", None, "--symmetrize"), ("MiniBooNE", "MiniBooNE", "--pattern reference")]


@figure("chord_solvers", "2", timed=True)
def chord_solvers(context):
    rows = []
    for title, stem, options in SOLVERS:
        file = context.paper_matrix(stem) if stem else ROOT / "matrices/ar1.mtx"
        n = context.json("info", file)["matrix"]["rows"]
        fits = [context.fit(file, "chord", *options.split(), "--solver", solver, "--threads", 1) for solver in ("own", "ceres")]
        rows.append([title, n, f"`{options}`" + ("" if n <= 63 else ", L-BFGS alone"),
                     *(f"{fit['relative_error']:.4g}" for fit in fits), *(f"{fit['fit_seconds']:.2g}" for fit in fits)])
    return table(["matrix", "N", "", "own", "Ceres", "own, s", "Ceres, s"], rows)


# Comparison with other programs


@figure("peers", "10", timed=True)
def peers(context):
    def case(name, threads, rounds, program=context.program):
        return context.script("peers", name, "--program", program, "--threads", threads, "--rounds", rounds,
                              needs=["numpy", "scipy", "sklearn", "h5py", "threadpoolctl"])

    nystrom = case("nystrom", 2, 5)
    svd = {threads: case("truncated_svd", threads, 7) for threads in (2, 1)}
    graph = case("scale_free", 1, 1)
    whole = {row["name"]: row for row in case("whole_command", 2, 3)["rows"]}
    text = case("matrix_market", 1, 5, context.bench)

    def ms(threads, name):
        return f"{1e3 * svd[threads]['runs'][name]['median_seconds']:.0f} ms"

    def excess(name):
        return f"{svd[2]['runs'][name]['error_over_best']:.6g}"

    npy, hdf5, kernel = (whole[name] for name in ("npy", "h5", "kernel"))
    return table(["work", "ours", "the other", "errors"], [
        ["Nyström, rank 500, Gaussian kernel of 50,000 points, never formed, 2 threads",
         f"{nystrom['ours']['median_seconds']:.2f} s, {nystrom['peak_gigabytes']:.2f} GB",
         f"scikit-learn {nystrom['sklearn']} `Nystroem` {nystrom['theirs']['median_seconds']:.2f} s",
         f"{nystrom['ours']['error']:.1e} ours, {nystrom['theirs']['error']:.1e} theirs"],
        ["SVD of rank 20, graph of 1,000,000 nodes and 5,000,000 edges, 1 thread", f"{graph['ours']:.1f} s",
         f"SciPy {graph['scipy']} `svds` {graph['theirs']:.1f} s", f"singular values agree to {graph['difference']:.0e}"],
        ["SVD of rank 50, N = 2048, σ_k = 1/k, 2 threads, defaults", ms(2, "matapprox"),
         f"scikit-learn `randomized_svd`, n_iter auto: {ms(2, 'sklearn n_iter=auto')}",
         f"{excess('matapprox')} and {excess('sklearn n_iter=auto')} of the least error"],
        ["the same, q = 3 and 25 columns", ms(2, "matapprox q=3 b=25"), f"n_iter 2: {ms(2, 'sklearn n_iter=2')}",
         f"{excess('matapprox q=3 b=25')} and {excess('sklearn n_iter=2')}"],
        ["the same, 1 thread: defaults; q = 3 and 25 columns", f"{ms(1, 'matapprox')}; {ms(1, 'matapprox q=3 b=25')}",
         f"n_iter auto {ms(1, 'sklearn n_iter=auto')}; n_iter 2 {ms(1, 'sklearn n_iter=2')}", "as above"],
        ["the whole command: 12,000 × 12,000 from `.npy` (1.15 GB), SVD of rank 50, 2 threads; from HDF5",
         f"{npy['ours']['seconds']:.2f} s; {hdf5['ours']['seconds']:.2f} s",
         f"Python with scikit-learn and h5py {npy['theirs']['seconds']:.2f} s; {hdf5['theirs']['seconds']:.2f} s",
         f"both exact, {npy['ours']['error']:.4f}; {npy['theirs']['error']:.4f}"],
        ["the whole command: Gaussian kernel of 100,000 points, Nyström of rank 1000, 2 threads, factors saved",
         f"{kernel['ours']['seconds']:.1f} s (fit {kernel['ours']['fit_seconds']:.1f} s)",
         f"Python with scikit-learn and h5py {kernel['theirs']['seconds']:.1f} s",
         f"{kernel['ours']['error']:.1e} ours, {kernel['theirs']['error']:.1e} theirs, from {kernel['ours']['samples']} and "
         "256 columns"],
        ["MatrixMarket, 2,000,000 entries, 1 thread", f"{text['ours']:.0f} MB/s", f"SciPy {text['scipy']} {text['theirs']:.0f} MB/s",
         ""]])


# Cost of `hierarchical`

COST_POINTS = """
import sys
import numpy
for count, dimension in ((4096, 2), (25000, 2), (50000, 2), (100000, 2), (25000, 3), (50000, 3), (100000, 3)):
    points = numpy.random.default_rng(count + dimension).random((count, dimension))
    numpy.save(f"{sys.argv[1]}/{count}_{dimension}.npy", points)
points = numpy.load(f"{sys.argv[1]}/4096_2.npy")

def halved(indices):
    if len(indices) <= 32:
        return list(indices)
    order = indices[numpy.argsort(points[indices, numpy.argmax(numpy.ptp(points[indices], axis=0))], kind="stable")]
    half = (len(order) + 1) // 2
    return halved(order[:half]) + halved(order[half:])

def save_matrix(name):
    global points
    points = points[halved(numpy.arange(len(points)))]
    A = numpy.lib.format.open_memmap(f"{sys.argv[1]}/{name}.npy", "w+", numpy.float64, (len(points), len(points)))
    for first in range(0, len(points), 512):
        scaled = 3**0.5 * numpy.linalg.norm(points[first:first + 512, None] - points[None], axis=2) / 0.1
        A[first:first + 512] = (1 + scaled) * numpy.exp(-scaled)

save_matrix("4096")
points = numpy.random.default_rng(16386).random((16384, 2))
save_matrix("16384")
"""


def cost_inputs(context, name):
    """Creates the matrices and points, and returns their folder."""
    folder = context.scratch(name)
    if subprocess.run([context.python, "-c", COST_POINTS, str(folder)], check=False).returncode != 0:
        raise Missing(f"numpy in {context.python} (--python), and 2.3 GB in {folder}")
    return folder


def remove_inputs(folder):
    for file in folder.glob("*.npy"):
        file.unlink()


def hierarchical_cost_table(document):
    rows = [[row["input"], row["asked"], f"{row['seconds']:.3g}", row["beside"], f"{row['gigabytes']:.2f}", f"{row['megabytes']:.2f}",
             short(row["error"])] for row in document["rows"]]
    return with_source(markdown(["input", "asked for", "seconds", "over randomized SVD", "peak of the fit, GB", "result, MB", "relative error"], rows),
                       document)


@figure("hierarchical_cost", "4", {"hierarchical_cost": hierarchical_cost_table}, timed=True)
def hierarchical_cost(context):
    folder = cost_inputs(context, "hierarchical_cost")
    kernel = ["--as", "kernel", "--kernel", "matern32", "--bandwidth", "0.1"]
    cases = [("4096 x 4096, from a file", "4096", [], share) for share in ("0.2%", "0.5%", "3%")]
    cases += [("4096 points in 2-D", "4096_2", kernel, share) for share in ("0.2%", "0.5%")]
    cases += [("16384 x 16384, from a file", "16384", [], "0.2%")]
    cases += [(f"{grouped(count)} points in {dimension}-D", f"{count}_{dimension}", kernel, target)
              for dimension, target in ((2, "1e-3"), (3, "1e-2")) for count in (25000, 50000, 100000)]
    rows = []
    for title, stem, options, asked in cases:
        file = folder / f"{stem}.npy"
        limit = ["--budget", asked] if asked.endswith("%") else ["--target-error", asked]
        rounds = 3 if stem.startswith("4096") else 1
        found, randomized = [], []
        for _ in range(rounds):
            found.append(context.fit(file, "hierarchical", *options, *limit, "--threads", 2))
            if asked.endswith("%"):
                randomized.append(context.fit(file, "truncated_svd", *options, "--algorithm", "randomized", "--rank", 48, "--threads",
                                              2)["fit_seconds"])
        seconds = statistics.median(fit["fit_seconds"] for fit in found)
        rows.append({"input": title, "asked": asked.replace("%", " %"), "seconds": rounded(seconds, 3),
                     "beside": f"{seconds / statistics.median(randomized):.1f}" if randomized else "-",
                     "gigabytes": rounded(found[0]["peak_memory_bytes"] / 1e9, 3), "megabytes": rounded(found[0]["stored_bytes"] / 1e6, 3),
                     "error": rounded(found[0]["relative_error"])})
    remove_inputs(folder)
    return {"rows": rows}


# Cost of `best`

BEST_SHARES = ["0.2%", "0.5%", "1%", "3%"]
BEST_LIMITS = [(title, file, options, seconds)
               for title, file, options, limits in (
                   ("4096 x 4096, from a file, 3 %", "4096", ["--budget", "3%"], (0.5, 1)),
                   ("4096 x 4096, from a file, error 1e-6", "4096", ["--target-error", "1e-6"], (0.5, 1)),
                   ("16384 x 16384, from a file, 1 %", "16384", ["--budget", "1%"], (4, 8)),
                   ("100,000 points in 2-D, error 1e-4", "100000_2", ["--target-error", "1e-4"], (2, 8)),
                   ("50,000 points in 3-D, 0.1 %", "50000_3", ["--budget", "0.1%"], (2, 8)))
               for seconds in limits]


def best_cost_table(document):
    rows = [[row["share"], *(cell for threads in ("1", "2") for cell in (
        f"{row['best'][threads]:.3g}", f"{row['randomized'][threads]:.3g}", f"{row['best'][threads] / row['randomized'][threads]:.1f}"))]
            for row in document["rows"]]
    titles = [f"{what}, {threads}" for threads in ("one thread", "two threads")
              for what in ("`best`, s", "randomized SVD, s", "ratio")]
    return with_source(markdown(["bytes", *titles], rows), document)


def best_cost_limits(document):
    rows = [[row["input"], f"{row['limit']:g}", f"{row['seconds']:.3g}", percent(row["seconds"] / row["limit"] - 1)] for row in document["limits"]]
    return markdown(["input", "`--max-seconds`", "the command took, s", "more than that"], rows)


@figure("best_cost", "4", {"best_cost": best_cost_table, "best_cost.limits": best_cost_limits}, timed=True)
def best_cost(context):
    """Measures the seconds of the search without reading the matrix, and in turn those of a randomized SVD; and those of the
    whole command with --max-seconds."""
    folder = cost_inputs(context, "best_cost")
    kernel = ["--as", "kernel", "--kernel", "matern32", "--bandwidth", "0.1"]
    rows = []
    for share in BEST_SHARES:
        row = {"share": share.replace("%", " %"), "best": {}, "randomized": {}}
        for threads in (1, 2):
            found, randomized = [], []
            for _ in range(5):
                found.append(context.json("best", folder / "4096.npy", "--budget", share, "--threads", threads)["seconds"])
                randomized.append(context.fit(folder / "4096.npy", "truncated_svd", "--algorithm", "randomized", "--rank", 48,
                                              "--threads", threads)["fit_seconds"])
            row["best"][str(threads)] = rounded(statistics.median(found), 3)
            row["randomized"][str(threads)] = rounded(statistics.median(randomized), 3)
        rows.append(row)
    limits = []
    for title, stem, options, limit in BEST_LIMITS:
        command = ["best", folder / f"{stem}.npy", *(kernel if "_" in stem else []), *options, "--max-seconds", limit]
        context.say("matapprox", *command)
        began = time.perf_counter()
        # A target that is not reached in time has a separate exit code.
        subprocess.run([str(context.program), *map(str, command)], check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        limits.append({"input": title, "limit": limit, "seconds": rounded(time.perf_counter() - began, 3)})
    remove_inputs(folder)
    return {"rows": rows, "limits": limits}


PACKED_PEERS = ["hierarchical", "best", "randomized SVD, fp64", "randomized SVD, fp32", "interpolative", "zfp", "SZ3", "palm4msa"]


def packed_peers_table(document):
    rows = []
    for row in document["rows"]:
        least = min(found["error"] for found in row["results"].values())

        def cell(name, results=row["results"], least=least):
            if name not in results:
                return "-"
            error = short(results[name]["error"])
            return f"{f'**{error}**' if results[name]['error'] == least else error}, {results[name]['seconds']:.2g} s"

        rows.append([row["matrix"], row["n"], percent(row["share"]), *(cell(name) for name in PACKED_PEERS)])
    names = ["`hierarchical`", "`best`", *PACKED_PEERS[2:]]
    return with_source(markdown(["matrix", "N", "bytes", *names], rows), document)


def packed_peers_versions(document):
    titles = {"scipy": "SciPy", "scikit-learn": "scikit-learn", "zfpy": "zfpy", "pysz": "pysz", "pyfaust": "pyfaust"}
    return ", ".join(f"{titles[name]} {number}" for name, number in document["versions"].items()) + "."


@figure("packed_peers", "5", {"packed_peers": packed_peers_table, "packed_peers.versions": packed_peers_versions}, timed=True)
def packed_peers(context):
    files = [context.paper_matrix(stem) for stem in ("Protein", "Yeast", "phoneme", "timit")] + [context.matrices() / "image/ship.png"]
    document = context.script("packed_peers", context.program, 2, 3, *files,
                              needs=["numpy", "scipy", "sklearn", "threadpoolctl", "PIL", "zfpy", "pysz", "pyfaust"])
    for row in document["rows"]:
        for found in row["results"].values():
            found["error"], found["seconds"] = rounded(found["error"]), rounded(found["seconds"], 3)
    return document


def structure_table(document):
    rows = []
    for row in document["rows"]:
        cells = []
        for found in row["shares"]:
            rivals = [(error, name) for name, error in found["rivals"].items() if error is not None]
            least = f"; {error_text(min(rivals)[0])} {min(rivals)[1]}" if rivals else ""
            cells.append(f"{error_text(found['error'])} {found['method']}{least}")
        faust = row["pyfaust"]
        rows.append([row["matrix"], *cells, percent(row["zstd"]), error_text(faust["error"]) if faust else "-"])
    titles = [percent(found["share"]) for found in document["rows"][0]["shares"]]
    return with_source(markdown(["matrix", *titles, "zstd", "pyfaust"], rows), document)


def error_text(error):
    return "-" if error is None else "0" if error == 0 else f"{error:.1e}"


@figure("structure", "4", {"structure": structure_table})
def structure(context):
    images = sorted(context.matrices().glob("image/*.png")) + sorted(context.matrices().glob("extra/*.png"))
    document = context.script("structure", "--program", context.program, "--images", *images,
                              needs=["numpy", "imagecodecs", "zstandard", "pyfaust"])
    rows = [{"matrix": row["matrix"], "zstd": rounded(row["zstd"], 3),
             "pyfaust": {key: rounded(value, 3) for key, value in row["pyfaust"].items()} if row["pyfaust"] else None,
             "shares": [{"share": found["share"], "error": rounded(found["error"], 3), "method": found["method"], "bytes": found["bytes"],
                         "rivals": {name: None if error is None else rounded(error, 3) for name, error in found["rivals"].items()}}
                        for found in row["shares"]]}
            for row in document["results"]]
    return {"rows": rows}


def structure_products_table(document):
    rows = []
    for row in document["rows"]:
        (one, many), (dense_one, dense_many) = row["seconds"], row["dense"]
        rows.append([row["matrix"], row["method"], percent(row["share"]), error_text(row["error"]), f"{1e3 * one:.2g}", f"{1e3 * dense_one:.2g}",
                     f"{dense_one / one:.2g}", f"{1e3 * many:.2g}", f"{1e3 * dense_many:.2g}", f"{dense_many / many:.2g}"])
    titles = ["matrix", "`best`", "bytes", "error", "1 vector, ms", "dense, ms", "ratio", "64 vectors, ms", "dense, ms", "ratio"]
    return with_source(markdown(titles, rows), document)


MULTIPLIED = ["Toeplitz", "kernel on a lattice", "sum of three Kronecker products", "Hadamard", "random butterfly", "cosine transform",
              "rank 5 and 1 % scattered entries", "normal noise"]


@figure("structure_products", "4", {"structure.products": structure_products_table})
def structure_products(context):
    document = context.script("structure", "--program", context.program, "--order", "4096", "--products", *MULTIPLIED,
                              needs=["numpy", "imagecodecs", "zstandard"])
    rows = [{**row, "error": rounded(row["error"], 3), "share": rounded(row["share"], 3),
             "seconds": [rounded(x, 3) for x in row["seconds"]], "dense": [rounded(x, 3) for x in row["dense"]]}
            for row in document["results"]]
    return {"rows": rows}


# The Python package compared with others in the same process

PYTHON_SVD = ["matapprox", "matapprox, randomized", "sklearn randomized_svd", "sklearn TruncatedSVD", "fbpca pca", "scipy svds", "primme svds"]
PYTHON_SVD_TITLES = ["`truncated_svd`", "the same, `randomized`", "`randomized_svd`", "`TruncatedSVD`", "fbpca `pca`", "SciPy `svds`", "primme `svds`"]
PYTHON_NYSTROM = ["matapprox", "matapprox Nystroem", "sklearn Nystroem"]
PYTHON_NYSTROM_TITLES = ["`nystrom`", "`matapprox.sklearn.Nystroem`", "scikit-learn `Nystroem`"]
PYTHON_CHAINS = ["matapprox", "matapprox, auto", "pyfaust, 2 factors", "pyfaust, 4 factors", "pyfaust, as Hadamard"]
PYTHON_CHAINS_TITLES = ["`chord`", "`chord`, `auto`", "pyfaust, 2 factors", "pyfaust, 4 factors", "pyfaust, as Hadamard"]


def python_svd_table(document):
    def cell(found, least):
        mantissa, exponent = f"{found['error'] / least - 1:.0e}".split("e")
        return f"{found['seconds']:.2g} s, " + (f"{mantissa}e{int(exponent)}" if mantissa != "0" else "0")

    rows = []
    for row in document["svd"]:
        least = min(found["error"] for found in row["results"].values())
        rows.append([row["matrix"], row["size"], short(least), *(cell(row["results"][name], least) for name in PYTHON_SVD)])
    return markdown(["matrix", "rank", "least error", *PYTHON_SVD_TITLES], rows)


def python_nystrom_table(document):
    rows = [[row["matrix"], row["size"], *(f"{row['results'][name]['seconds']:.2g} s, {short(row['results'][name]['error'])}"
                                           for name in PYTHON_NYSTROM)] for row in document["nystrom"]]
    return markdown(["matrix", "rank", *PYTHON_NYSTROM_TITLES], rows)


def python_chains_table(document):
    def cell(found):
        return "-" if found is None else f"{grouped(found['numbers'])}, {found['seconds']:.2g} s, {short(found['error'])}"

    rows = [[row["matrix"], *(cell(row["results"].get(name)) for name in PYTHON_CHAINS)] for row in document["chains"]]
    return with_source(markdown(["matrix", *PYTHON_CHAINS_TITLES], rows), document)


def python_peers_versions(document):
    titles = {"numpy": "NumPy", "scipy": "SciPy"}
    return ", ".join(f"{titles.get(name, name)} {number}" for name, number in document["versions"].items()) + "."


@figure("python_peers", "6", {"python_peers.versions": python_peers_versions, "python_peers.svd": python_svd_table,
                              "python_peers.nystrom": python_nystrom_table, "python_peers.chains": python_chains_table}, timed=True)
def python_peers(context):
    document = context.script("python_peers", "--rounds", 5, needs=["numpy", "scipy", "sklearn", "threadpoolctl", "fbpca", "primme",
                                                                    "pyfaust", "matapprox"])
    for part in ("svd", "nystrom", "chains"):
        for row in document[part]:
            for found in row["results"].values():
                # The table shows the excess of the errors over the least, which needs more digits.
                found["error"], found["seconds"] = rounded(found["error"], 12), rounded(found["seconds"], 3)
    return document


# Overhead of the Python package


def python_binding_table(document):
    def seconds(value):
        unit, factor = ("s", 1) if value >= 1 else ("ms", 1e3) if value >= 1e-3 else ("µs", 1e6)
        return f"{value * factor:.3g} {unit}"

    loaded = document["import"]
    rows = [["`import matapprox`, beside NumPy and SciPy", seconds(loaded["with_matapprox_s"] - loaded["numpy_scipy_s"]),
             f"{seconds(loaded['numpy_scipy_s'])} without it"]]
    rows += [[f"`aslinearoperator` of an array of 800 MB, order {row['order']}", seconds(row["seconds"]),
              f"{row['bytes'] / 1e6:.2g} MB more memory"] for row in document["wrapping"]]
    rows += [[f"`A {row['call']} x`" if row["call"] == "@" else f"`A.{row['call']}(x)`", seconds(row["seconds"]),
              f"{seconds(row['scipy_seconds'])} with SciPy's operator"] for row in document["overhead"]]
    rows += [[f"`truncated_svd`, {row['n']} x {row['n']}, order {row['order']}, rank {row['rank']}", seconds(row["python_s"]),
              f"{row['python_s'] / row['cpp_s']:.3f} of the time in C++; "
              f"{'the same bits as' if row['same_bits_as_program'] else 'other bits than'} the program"] for row in document["fits"]]
    return markdown(["", "median", "beside"], rows)


def python_interrupts_table(document):
    rows = [[f"`{row['method']}`" + (f", `{row['options']}`" if row["options"] else ""), f"{row['stopped']} of {row['asked']}",
             f"{row['median_s']:.2f} s" if row["stopped"] else "-", f"{row['longest_s']:.2f} s" if row["stopped"] else "-"]
            for row in document["interrupts"]]
    return with_source(markdown(["", "stopped", "median", "longest"], rows), document)


@figure("python_binding", "3", {"python_binding": python_binding_table, "python_binding.interrupts": python_interrupts_table},
        timed=True)
def python_binding(context):
    document = context.script("python_binding", "--program", context.program, needs=["numpy", "scipy", "matapprox"])
    for rows in ([document["import"]], document["wrapping"], document["overhead"], document["interrupts"], document["fits"]):
        for row in rows:
            row |= {name: rounded(value, 3) for name, value in row.items() if name.endswith("_s") or name.endswith("seconds")}
    return document


# Solving with approximations of the inverse


def graph_laplacian(file, shift, out):
    """Writes D - A + shift I of a graph, weights taken for 1, from one MatrixMarket file to another."""
    lines = [line for line in file.read_text(encoding="utf-8").split("\n") if line and not line.startswith("%")]
    n = int(lines[0].split()[0])
    links = {tuple(sorted((int(a), int(b)))) for a, b in (line.split()[:2] for line in lines[1:]) if a != b}
    degree = [0] * (n + 1)
    for link in links:
        for node in link:
            degree[node] += 1
    rows = [f"{i} {i} {degree[i] + shift}" for i in range(1, n + 1)] + [f"{b} {a} -1" for a, b in sorted(links)]
    out.write_text(f"%%MatrixMarket matrix coordinate real symmetric\n{n} {n} {len(rows)}\n" + "\n".join(rows) + "\n",
                   encoding="utf-8")
    return n


PRECONDITIONERS = [("truncated_svd --symmetric-storage", "inverse", "1%"), ("truncated_svd --symmetric-storage", "inverse", "3%"),
                   ("nystrom", "inverse", "3%"), ("chord --pattern mixed_radix --symmetrize", "inverse", "3%"),
                   ("chord --pattern mixed_radix --symmetrize", "inverse", "10%"),
                   ("hierarchical", "inverse", "1%"), ("hierarchical", "inverse", "3%"),
                   ("truncated_svd --symmetric-storage", "matrix", "3%")]


def preconditioning_table(document):
    rows = [[f"`{row['preconditioner']}`", row["of"], row["share"], grouped(row["numbers"]), short(row["error"]),
             row["iterations"]] for row in document["rows"]]
    return with_source(markdown(["preconditioner", "of the", "share", "numbers stored", "relative error", "iterations"], rows),
                       document)


def kernel_table(document):
    rows = [[row["preconditioner"], grouped(row["numbers"]), listed([str(count) for count in row["iterations"]])] for row in document["kernel"]]
    return with_source(markdown(["preconditioner", "numbers stored", "iterations, by column"], rows), document)


@figure("preconditioning", "1", {"preconditioning": preconditioning_table, "preconditioning.kernel": kernel_table})
def preconditioning(context):
    folder = context.scratch("preconditioning")
    matrix, right_side = folder / "laplacian.mtx", folder / "b.csv"
    n = graph_laplacian(context.suitesparse("netz4504_dual"), 0.01, matrix)
    normal = random.Random(1)
    right_side.write_text("".join(f"{normal.gauss(0, 1)!r}\n" for _ in range(n)), encoding="utf-8")

    def iterations(*arguments):
        document = context.json("solve", matrix, right_side, *arguments)
        return {"numbers": document["preconditioner_numbers"] or 0, "iterations": document["solutions"][0]["iterations"]}

    rows = [{"preconditioner": name, "of": "-", "share": "-", "error": None, **iterations("--preconditioner", name)}
            for name in ["none", "jacobi"]]
    for method, of, budget in PRECONDITIONERS:
        saved = folder / "saved.h5"
        kind = ["--as", "inverse"] if of == "inverse" else []
        fit = context.json("approximate", matrix, *method.split(), *kind, "--budget", budget, "-o", saved, "--force")
        rows.append({"preconditioner": method, "of": of, "share": budget.replace("%", " %"),
                     "error": rounded(fit["results"][0]["relative_error"]),
                     **iterations("--preconditioner", saved, "--preconditioner-of", of)})

    points, saved, kernel = "matrices/clusters.csv", folder / "kernel.h5", []
    context.json("approximate", points, "nystrom", "--as", "kernel", "--rank", "60", "-o", saved, "--force")
    for name, arguments in [("none", []), ("nystrom, rank 60", ["--preconditioner", saved, "--preconditioner-of", "matrix"])]:
        document = context.json("solve", points, points, "--as", "kernel", "--shift", "0.01", *arguments)
        kernel.append({"preconditioner": name, "numbers": document["preconditioner_numbers"] or 0,
                       "iterations": [column["iterations"] for column in document["solutions"]]})
    return {"rows": rows, "kernel": kernel}
