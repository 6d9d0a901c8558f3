"""Tables of docs/distributed.md: time and memory of a large graph over MPI processes, and steps compared with the cost model."""
import json
import math
import subprocess

from .kept import Missing, figure, grouped, markdown, rounded, short, with_source

NODES = 10_000_000
RANK = 20
# "-q" and the following options allow several processes on a small machine, also as root.
START = ["mpirun", "-q", "--oversubscribe", "--allow-run-as-root", "--bind-to", "none", "-n"]


def graph_table(document):
    rows = []
    for row in document["rows"]:
        name = "trlanczos of SLEPc" if row["slepc"] else "`truncated_svd`, krylov"
        rows.append([name, row["processes"], f"{row['seconds']:.0f} s", f"{row['graph_peak'] / 1e9:.2f} GB", f"{row['peak'] / 1e9:.2f} GB"])
    return with_source(markdown(["singular values by", "processes", "time", "peak of a process with the graph alone", "peak of a process"], rows),
                       document)


def graph_summary(document):
    return (f"{grouped(document['nodes'])} nodes and {grouped(document['entries'])} entries, rank {document['rank']}: the singular values of all runs agree to "
            f"{document['largest_difference']:.0e}, relative to each.")


def bench_on(context, processes, *arguments):
    bench = context.program.parent / "matapprox_mpi_bench"
    if not bench.exists():
        raise Missing(f"{bench}: a build with MATAPPROX_WITH_MPI and MATAPPROX_BUILD_BENCH, as `scripts/mpi --bench` makes in build/mpi")
    command = [*START, str(processes), str(bench), *arguments]
    context.say(*command)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"matapprox_mpi_bench: {done.stderr.strip()}")
    return json.loads(done.stdout)


@figure("mpi_graph", "4", {"mpi_graph": graph_table, "mpi_graph.summary": graph_summary}, slow=True, timed=True)
def mpi_graph(context):
    def run(processes, slepc):
        return bench_on(context, processes, "--nodes", str(NODES), "--rank", str(RANK), *(["--slepc"] if slepc else []))

    found = [(slepc, run(processes, slepc)) for processes, slepc in ((2, False), (4, False), (4, True))]
    first = found[0][1]["values"]
    difference = max(abs(a - b) / a for _, run_ in found[1:] for a, b in zip(first, run_["values"]))
    return {"nodes": NODES, "entries": found[0][1]["entries"], "rank": RANK, "largest_difference": float(f"{difference:.1g}"),
            "rows": [{"slepc": slepc, "processes": run_["processes"], "seconds": round(run_["svd_seconds"], 1),
                      "graph_peak": max(run_["graph_peak_bytes"]), "peak": max(run_["peak_bytes"])} for slepc, run_ in found]}


def milliseconds(seconds):
    return f"{short(1e3 * seconds)} ms"


def steps_table(document):
    runs = document["runs"]
    titles = ["step"]
    for run in runs:
        titles += [f"{run['processes']} processes", "model", "ratio"]
    rows = []
    for step in zip(*(run["steps"] for run in runs)):
        row = [f"`{step[0]['step']}`" if "_" in step[0]["step"] else step[0]["step"]]
        for each in step:
            ratio = each["seconds"] / each["model_seconds"]
            row += [milliseconds(each["seconds"]), milliseconds(each["model_seconds"]), f"{ratio:.1f}"]
        rows.append(row)
    return with_source(markdown(titles, rows), document)


def machine_table(document):
    names = [("latency_seconds", "latency of a message", lambda value: f"{short(1e6 * value)} µs"),
             ("message_bytes_per_second", "messages", lambda value: f"{short(1e-9 * value)} GB/s"),
             ("memory_bytes_per_second", "memory", lambda value: f"{short(1e-9 * value)} GB/s"),
             ("flops_per_second", "operations", lambda value: f"{short(1e-9 * value)} Gflop/s"),
             ("new_memory_bytes_per_second", "new memory", lambda value: f"{short(1e-9 * value)} GB/s")]
    rows = [[name, *(shown(run["machine"][key]) for run in document["runs"])] for key, name, shown in names]
    return markdown(["of a process, while all do the same", *(f"{run['processes']} processes" for run in document["runs"])], rows)


def model_works(run):
    """Returns bytes through memory, operations, bytes sent and waiting messages of each step on one process, without the command
    at its end, by the table of docs/distributed.md. The number of processes is a power of two."""
    P, b, a, d = run["processes"], run["block_columns"], run["basis_columns"], run["dimension"]
    q = math.log2(P)
    nodes, rows, points = run["nodes"] / P, run["order"] / P, run["points"] / P
    g, senders = run["graph"]["received_rows"], run["graph"]["senders"]
    e = nodes * run["graph"]["entries_per_row"]
    # Chord factors: values, rows of panels that are sent, and values that are sent for the transposes.
    M = run["factors"]
    V = rows * M * run["links"]
    sent_rows, sent_values = q * rows, (q + 1) * rows - 1 if P > 1 else 0
    U, T = M * sent_rows, M * sent_values

    def chord(columns):
        vector = 16 * (M * rows + U) if columns == 1 else 0
        return 8 * V + 16 * columns * rows * (M + 2) + vector, 2 * columns * V, 8 * columns * U, (3 + M) * q

    def transposed(columns):
        memory, operations, sent, messages = chord(columns)
        return memory + 16 * V + 32 * T, operations, sent + 8 * T, messages + M * (P - 1)

    # An evaluation transposes the values and clears the gradient; a panel of w columns reads the values in both directions and updates
    # the gradient, and each factor reads or writes six panels. Adam reads four vectors and writes three. The last factor needs no rows.
    w = run["fit_panel_columns"]
    c = math.ceil(b / w)
    adam = (104 * V + 32 * T + c * (32 * V + 48 * w * rows * M), 6 * c * w * V,
            16 * c * w * (U - sent_rows) + 8 * (T - sent_values), M * (P - 1) + (2 * c * M + 6 + 3 * c) * q)
    # Each entry of the kernel takes three operations per coordinate, 30 for the exponential, and two per column.
    kernel = (0, points * run["points"] * (3 * d + 30 + 2 * b), 8 * run["points"] * (d + b) * q,
              (1 + 6 * math.ceil(run["points"] / run["kernel_panel_points"])) * q)
    block = f", {b} columns"
    return {"command": (0, 0, 0, 0),
            "sparse product, 1 column": (24 * e + 32 * nodes + 16 * g, 2 * e, 8 * g, 5 * q + senders),
            f"sparse product{block}": ((16 + 8 * b) * e + 8 * nodes + b * (40 * nodes + 32 * g), 2 * b * e, 8 * b * g, 5 * q + senders),
            "transpose_product": (8 * nodes * (a + b), 2 * nodes * a * b, 8 * a * b * q, 4 * q),
            "add_product": (8 * nodes * (a + 2 * b), 2 * nodes * a * b, 8 * a * b * q, 6 * q),
            "Chord product, 1 column": chord(1), "transposed Chord product, 1 column": transposed(1),
            f"Chord product{block}": chord(b), f"transposed Chord product{block}": transposed(b),
            f"step of Adam{block}": adam, f"kernel product{block}": kernel}


def model_seconds(run):
    """Returns the time of each step by the cost model."""
    rates = run["machine"]
    command = 2 * math.log2(run["processes"])
    return {step: max(memory / rates["memory_bytes_per_second"], operations / rates["flops_per_second"]) +
            sent / rates["message_bytes_per_second"] + (messages + command) * rates["latency_seconds"]
            for step, (memory, operations, sent, messages) in model_works(run).items()}


@figure("mpi_steps", "2", {"mpi_steps": steps_table, "mpi_steps.machine": machine_table}, slow=True, timed=True)
def mpi_steps(context):
    runs = [bench_on(context, processes, "steps") for processes in (2, 4)]
    kept_runs = []
    for run in runs:
        model = model_seconds(run)
        kept_runs.append({"processes": run["processes"], "machine": {key: rounded(value, 4) for key, value in run["machine"].items()},
                          "steps": [{"step": step["step"], "seconds": rounded(step["seconds"], 4),
                                     "model_seconds": rounded(model[step["step"]], 4)} for step in run["steps"]]})
    return {**{key: runs[0][key] for key in ("nodes", "order", "points")}, "runs": kept_runs}
