"""Tables of docs/best.md: choices of `matapprox best`, exact storage, photographs compared with JPEG."""
import csv
import json
import subprocess

from .kept import ROOT, Missing, figure, grouped, markdown, percent, rounded, short, with_source

SHARES = [0.01, 0.03, 0.10]
ROUNDING = 1e-13
RIVALS = "truncated_svd,nystrom,jl_projection,cur,hierarchical,wavelet"
PACKED_RIVALS = "truncated_svd,nystrom"
# Three factors: no other pattern fits into this few numbers. Larger fits take minutes.
CHORD = ["--set", "chord.effort=fast", "--set", "chord.pattern=mixed_radix"]
CHORD_ORDER = 600


def inputs(context):
    """Yields (group, name, file, options) for every available matrix."""
    with open(ROOT / "matrices/paper.csv", encoding="utf-8") as listed:
        for entry in csv.DictReader(listed):
            stem = entry["file"].rsplit(".", 1)[0]
            found = [file for file in sorted(context.matrices().glob(f"{stem}.*")) if file.suffix in (".mat", ".mtx", ".png")]
            if not found:
                raise Missing(f"{entry['file']} among the paper's matrices")
            kind = ["--as", "image_laplacian"] if entry["category"] == "gradient_image" else []
            yield "paper", entry["name"], found[0], kind
    with open(ROOT / "matrices/index.csv", encoding="utf-8") as listed:
        for entry in csv.DictReader(listed):
            kind = ["--as", entry["load_as"]]
            yield "matrices/", entry["file"] + ("" if entry["load_as"] == "matrix" else f" as {entry['load_as']}"), ROOT / "matrices" / entry["file"], kind
    extra = context.matrices() / "extra"
    for file in sorted([*extra.glob("*.mtx"), *extra.glob("*.png")]):
        yield "others", file.name, file, []


def least_rival(context, file, kind, budget, facts):
    """Returns the least error of the registered methods at these bytes, and the method that has it."""
    found = []
    symmetric = ",truncated_svd_symmetric" if facts["symmetric"] else ""
    runs = [("double", RIVALS + symmetric, []), ("packed", PACKED_RIVALS + symmetric, [])]
    if facts["rows"] == facts["cols"] <= CHORD_ORDER:
        runs += [("double", "chord", CHORD), ("packed", "chord", CHORD)]
    for precision, methods, options in runs:
        try:
            document = context.json("compare", file, *kind, "--methods", methods, "--budget", budget, "--precision", precision,
                                    "--exact-error", *options)
        except RuntimeError:  # none of them fits
            continue
        for row in document["results"]:
            if row["method"] != "as_is" and row["status"] == "ok":
                found.append((row["relative_error"], row["method"] + (", packed" if precision == "packed" else "")))
    return min(found) if found else (None, None)


def best_cell(cell):
    if cell["error"] is None:
        return "-"
    return f"{short(cell['error'])} ({cell['chosen']})"


def best_table(document):
    rows = [[row["matrix"], row["n"], *(best_cell(cell) for cell in row["shares"])] for row in document["rows"]]
    return with_source(markdown(["matrix", "N", *(f"{100 * share:g} %" for share in SHARES)], rows), document)


def best_summary(document):
    cells = [cell for row in document["rows"] for cell in row["shares"]]
    ratios = [cell["ratio"] for cell in cells if cell.get("ratio") is not None and cell["error"] > ROUNDING]
    exact = sum(cell["error"] == 0 for row in document["rows"] for cell in row["shares"])
    winners = {}
    for row in document["rows"]:
        for cell in row["shares"]:
            if cell["error"] is not None:
                kind = cell["chosen"].split(",")[0]
                winners[kind] = winners.get(kind, 0) + 1
    kinds = ", ".join(f"`{name}` {count}" for name, count in sorted(winners.items(), key=lambda pair: -pair[1]))
    worst = max(ratios)
    return (f"Of {sum(len(row['shares']) for row in document['rows'])} cases (a matrix and a share) {exact} end with the matrix itself, error 0. "
            f"Chosen: {kinds}. Where the error is more than rounding (1e-13), it is at most {worst:.3f} times that of the best registered method at the same bytes.")


@figure("best", "5", {"best": best_table, "best.summary": best_summary}, slow=True)
def best(context):
    rows = []
    for group, name, file, kind in inputs(context):
        facts = context.json("info", file, *kind)["matrix"]
        m, n = facts["rows"], facts["cols"]
        if m * n > 1.3e6:
            continue  # these take minutes
        cells = []
        for share in SHARES:
            budget = f"{int(8 * m * n * share)}B"
            try:
                document = context.json("best", file, *kind, "--budget", budget)
            except RuntimeError:  # the budget is too small for every method
                cells.append({"error": None, "chosen": None})
                continue
            error = document["result"]["relative_error"]
            cell = {"error": rounded(error), "chosen": document["candidates"][document["chosen"]]["name"], "seconds": rounded(document["seconds"], 3)}
            if error:
                rival, whose = least_rival(context, file, kind, budget, facts)
                cell.update({"rival": rounded(rival), "rival_is": whose, "ratio": rounded(error / rival, 5) if rival else None})
            cells.append(cell)
        rows.append({"group": group, "matrix": name, "n": n if m == n else f"{m} x {n}", "shares": cells})
    return {"rows": rows}


# Exact storage

STORED = ["matrices/mesh2d.mtx", "matrices/mesh3d.mtx", "matrices/scale_free.mtx", "matrices/small_world.mtx", "matrices/block_model.mtx",
          "matrices/permutation.mtx", "matrices/scene.png", "matrices/hilbert.mtx"]
STORED_ELSEWHERE = ["3elt", "1138_bus", "can_1072", "bcsstk13", "polblogs", "power", "orsirr_1", "west0067"]


def stores_table(document):
    rows = [[f"`{row['matrix']}`", row["n"], grouped(row["entries"]), grouped(row["csr"]), grouped(row["bytes"]),
             f"{row['csr'] / row['bytes']:.1f}", row["form"]] for row in document["rows"]]
    return with_source(markdown(["matrix", "N", "entries", "CSR, bytes", "exact, bytes", "ratio", "form"], rows), document)


@figure("exact_stores", "1", {"exact_stores": stores_table})
def exact_stores(context):
    rows = []
    for file in [*STORED, *(context.suitesparse(name) for name in STORED_ELSEWHERE)]:
        document = context.json("compare", file, "--methods", "jl_projection", "--rank", "1")
        facts, row = document["matrix"], document["results"][0]
        entries = facts["nonzeros"]
        dense = entries > facts["rows"] * facts["cols"] / 2
        rows.append({"matrix": str(file).rsplit("/", 1)[-1], "n": facts["rows"], "entries": entries,
                     "csr": 8 * facts["rows"] * facts["cols"] if dense else 12 * entries + 8 * (facts["rows"] + 1),
                     "bytes": row["stored_bytes"], "form": row["form"]})
    return {"rows": rows}


# Photographs

PHOTOGRAPHS = ["image/ship", "image/skyscraper", "image/bridge", "image/apple", "extra/camera", "extra/coins", "extra/grass", "extra/moon"]
JPEG = """
import io, json, sys
import numpy as np
from PIL import Image
path, *budgets = sys.argv[1:]
image = Image.open(path).convert("L")
exact = np.asarray(image, float)
png = io.BytesIO()
image.save(png, "PNG", optimize=True)
found = []
for budget in map(int, budgets):
    least = None
    for quality in range(1, 96):
        data = io.BytesIO()
        image.save(data, "JPEG", quality=quality, optimize=True)
        if data.tell() > budget:
            break
        error = np.linalg.norm(np.asarray(Image.open(io.BytesIO(data.getvalue())), float) - exact) / np.linalg.norm(exact)
        least = error if least is None else min(least, error)
    found.append(least)
print(json.dumps({"png": png.tell(), "errors": found}))
"""


def photograph_table(document):
    rows = [[f"`{row['image']}`", row["size"], *(short(value) for share in row["shares"] for value in (share["best"], share["jpeg"])),
             percent(row["png"], 1), percent(row["integers"], 1)] for row in document["rows"]]
    titles = [f"{100 * share:g} %, {who}" for share in SHARES for who in ("`best`", "JPEG")]
    return with_source(markdown(["image", "size", *titles, "PNG takes", "`exact` takes"], rows), document)


@figure("photographs", "1", {"photographs": photograph_table})
def photographs(context):
    if subprocess.run([context.python, "-c", "import PIL, numpy"], capture_output=True, check=False).returncode != 0:
        raise Missing(f"Pillow and numpy in {context.python} (--python)")
    rows = []
    for name in PHOTOGRAPHS:
        file = context.matrices() / f"{name}.png"
        if not file.exists():
            raise Missing(f"{name}.png among the paper's matrices")
        facts = context.json("info", file)["matrix"]
        whole = 8 * facts["rows"] * facts["cols"]
        budgets = [int(share * whole) for share in SHARES]
        done = subprocess.run([context.python, "-c", JPEG, str(file), *map(str, budgets)], capture_output=True, text=True, check=True)
        jpeg = json.loads(done.stdout)
        ours = [context.json("best", file, "--budget", f"{budget}B")["result"]["relative_error"] for budget in budgets]
        stored = context.json("compare", file, "--methods", "jl_projection", "--rank", "1")["results"][0]["stored_bytes"]
        rows.append({"image": name.rsplit("/", 1)[-1], "size": f"{facts['rows']} x {facts['cols']}",
                     "shares": [{"best": rounded(a), "jpeg": rounded(b)} for a, b in zip(ours, jpeg["errors"])],
                     "png": rounded(jpeg["png"] / whole), "integers": rounded(stored / whole)})
    return {"rows": rows}
