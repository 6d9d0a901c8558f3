"""Tables of docs/distributed.md: time and memory of a large graph over the processes of MPI."""
import json
import subprocess

from .kept import Missing, figure, grouped, markdown, with_source

NODES = 10_000_000
RANK = 20
# "-q" and what follows let several processes run on a small machine, also as root.
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


@figure("mpi_graph", "4", {"mpi_graph": graph_table, "mpi_graph.summary": graph_summary}, slow=True, timed=True)
def mpi_graph(context):
    bench = context.program.parent / "matapprox_mpi_bench"
    if not bench.exists():
        raise Missing(f"{bench}: a build with MATAPPROX_WITH_MPI and MATAPPROX_BUILD_BENCH, as `scripts/mpi --bench` makes in build/mpi")

    def run(processes, slepc):
        command = [*START, str(processes), str(bench), "--nodes", str(NODES), "--rank", str(RANK), *(["--slepc"] if slepc else [])]
        context.say(*command)
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"matapprox_mpi_bench: {done.stderr.strip()}")
        return json.loads(done.stdout)

    found = [(slepc, run(processes, slepc)) for processes, slepc in ((2, False), (4, False), (4, True))]
    first = found[0][1]["values"]
    difference = max(abs(a - b) / a for _, run_ in found[1:] for a, b in zip(first, run_["values"]))
    return {"nodes": NODES, "entries": found[0][1]["entries"], "rank": RANK, "largest_difference": float(f"{difference:.1g}"),
            "rows": [{"slepc": slepc, "processes": run_["processes"], "seconds": round(run_["svd_seconds"], 1),
                      "graph_peak": max(run_["graph_peak_bytes"]), "peak": max(run_["peak_bytes"])} for slepc, run_ in found]}
