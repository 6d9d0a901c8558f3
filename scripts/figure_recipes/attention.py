"""Tables of docs/attention.md."""
import json
import math
import shutil

from .kept import ROOT, Missing, by_hand, figure, grouped, kept, markdown, percent, rounded, short, table, table_as_kept, with_source, within
from .paper import SEEDS, baselines, trained

MECHANISMS = ["softmax", "psf", "linformer", "singularformer", "revisited_linformer", "efficient", "simpletron",
              "linear_transformer", "performer", "nystromformer", "bigbird", "flash", "tokenwise", "mean"]


@figure("psf_tasks", "5")
def psf_tasks(context):
    rows = []
    for task, head, file, steps in (("Adding", "all tokens", "adding", 2000),
                                    ("Temporal Order", "all tokens", "temporal_order", 3000),
                                    ("Adding", "the first token", "adding_cls", 6000)):
        errors = [trained(context, f"{file}-{seed}", "--config", ROOT / f"configs/psf/{file}.toml", "--steps", steps, "--seed",
                          seed)["result"]["error"] for seed in SEEDS]
        rows.append([task, head, f"[{file}.toml](../configs/psf/{file}.toml)", steps, ", ".join(map(percent, errors))])
    return table(["task", "head reads", "configuration", "steps", "test error, seeds 1, 2, 3"], rows)


def all_mechanisms(context, length, seeds):
    """Returns test errors in percent by mechanism and head, and the number of parameters."""
    found = context.script("attention_tasks", "--program", context.program, "--folder",
                           context.resumable(f"adding-{length}"), "--length", length, "--seeds", ",".join(map(str, seeds)),
                           "--mechanisms", ",".join(MECHANISMS))
    return {row["mechanism"]: row for row in found["rows"]}


@figure("adding_128", "60", slow=True)
def adding_128(context):
    found = all_mechanisms(context, 128, SEEDS)

    def cell(head):
        return f"{head['median']:.2f} ({head['least']:.2f} .. {head['largest']:.2f})"

    return table(["mechanism", "parameters", "all tokens read", "first token read"],
                 [[name, grouped(found[name]["parameters"]["flatten"]), cell(found[name]["errors"]["flatten"]),
                   cell(found[name]["errors"]["cls"])] for name in MECHANISMS])


@figure("adding_512", "90", slow=True)
def adding_512(context):
    found = all_mechanisms(context, 512, [1])
    return table(["mechanism", "all tokens read", "first token read"],
                 [[name, *(f"{found[name]['errors'][head]['median']:.2f}" for head in ("flatten", "cls"))]
                  for name in MECHANISMS])


@figure("learning", "8", slow=True)
def learning(context):
    found = context.script("learning", context.program, context.resumable("learning"), folder="tests/acceptance")["rows"]
    return table(["task, the first token read", "mechanism", "test error, seeds 1, 2, 3"],
                 [[{"adding": "Adding", "temporal_order": "Temporal Order"}[row["task"]], row["mechanism"],
                   ", ".join(f"{error:.2f}" for error in row["errors"])]
                  for task in ("adding", "temporal_order") for row in found if row["task"] == task])


LISTOPS = ["--task", "listops", "--length", "1000", "--width", "32", "--layers", "2", "--block", "pre_norm", "--feed-forward",
           "2", "--positions", "learned", "--pool", "cls", "--steps", "3000", "--batch", "32", "--learning-rate", "0.001",
           "--schedule", "cosine", "--warmup", "200", "--test-samples", "5000", "--threads", "1"]


@figure("listops", "100", slow=True)
def listops(context):
    folder = context.resumable("listops")
    rows = []
    for title, options in (("PSF-Attn", ["psf", "--heads", "1"]), ("softmax", ["softmax", "--heads", "2"]),
                           ("Linformer, k = 64", ["linformer", "--rank", "64", "--heads", "2"]),
                           ("SimpleTRON", ["simpletron", "--heads", "2"]),
                           ("Singularformer", ["singularformer", "--heads", "2"])):
        documents = [trained(context, f"listops-{options[0]}-{seed}", *LISTOPS, "--attention", *options, "--seed", seed, folder=folder)
                     for seed in SEEDS]
        rows.append([title, grouped(documents[0]["model"]["parameters"])] +
                    [f"{percent(each['result']['error'])} {within(each['result']['error_interval'])}" for each in documents])
    found = [baselines(each) for each in documents]
    return table(["predictor", "parameters", *(f"test error, seed {seed}" for seed in SEEDS)],
                 rows + [[name, "", *(percent(each[name]) for each in found)] for name in found[0]])


def linformer_grid_table(document):
    """Returns the table of accuracies with the times of the same cells."""
    times = kept("linformer_times")
    seconds = {(cell["length"], cell["model"]): cell["seconds"] for cell in times["cells"]}
    rows = []
    for cell in document["cells"]:
        right = sorted(1 - error for error in cell["errors"])
        rows.append([cell["length"], cell["model"].replace("linformer-k", "Linformer, k = "),
                     f"{percent(right[len(right) // 2])} ({percent(right[0])} .. {percent(right[-1])})",
                     f"{seconds[cell['length'], cell['model']]:.0f}", percent(1 - cell["published"])])
    rows.append(["", "bag of words", percent(1 - document["bag_of_words"]), "", ""])
    sources = [{**document["sources"][0], "rows": "accuracies"}, {**times["sources"][0], "rows": "times"}]
    return with_source(markdown(["N", "model", "accuracy", "s a training", "the report, on IMDb"], rows), {"sources": sources})


@figure("linformer_grid", "50", {"linformer_grid": linformer_grid_table}, slow=True)
def linformer_grid(context):
    found = context.json("reproduce", "linformer_grid", "-o", context.resumable("linformer_grid"))["rows"]
    cells = {}
    for row in found:
        cell = cells.setdefault((row["length"], row["model"]), {key: row[key] for key in ("length", "model", "published")} | {"errors": []})
        cell["errors"].append(row["error"])
    return {"cells": list(cells.values()),
            "bag_of_words": next(each["error"] for each in found[0]["baselines"] if each["name"] == "bag of words")}


GRID_STEPS, TIMED_STEPS = 1500, 40


@figure("linformer_times", "2", {}, timed=True)
def linformer_times(context):
    """Estimates the training time of each cell without validations from its first steps, one cell at a time in one thread."""
    folder = context.scratch("linformer_times")
    shutil.rmtree(folder)
    rows = context.json("reproduce", "linformer_grid", "-o", folder, "--seeds", "1", "--steps", TIMED_STEPS, "--test-samples", "20",
                        "--threads", "1")["rows"]
    return {"cells": [{"length": row["length"], "model": row["model"], "seconds": rounded(row["seconds"] / TIMED_STEPS * GRID_STEPS)}
                      for row in rows]}


@figure("explained_variance", "1")
def explained_variance(context):
    rows = []
    for kind, title, printed in (("uniform", "uniform in 0..1", "about 0.91"), ("normal", "normal", "much less")):
        spectra = [context.json("attention", "spectrum", "--random", kind, "--ranks", "128", "--seed", seed)["spectra"] for seed in SEEDS]
        rows.append([title, *(", ".join(f"{spectrum[centered]['shares'][0]['squares']:.3f}" for spectrum in spectra) for centered in (0, 1)),
                     printed])
    return table(["entries", "as they are, seeds 1, 2, 3", "without column means", "the report"], rows)


@figure("trained_matrices", "10", slow=True)
def trained_matrices(context):
    models = {"PSF-Attn": ["--config", ROOT / "configs/psf/adding_cls.toml", "--length", "256", "--steps", "3000"],
              "softmax": ["--task", "adding", "--length", "256", "--attention", "softmax", "--block", "post_norm", "--width",
                          "32", "--heads", "4", "--feed-forward", "2", "--pool", "cls", "--learning-rate", "0.002",
                          "--schedule", "cosine", "--warmup", "200", "--steps", "1500", "--batch", "40"]}
    cells = {}
    for name, options in models.items():
        trained(context, name, *options)
        model = context.scratch("models") / f"{name}.h5"
        image = model.with_suffix(".npy")
        context.run("attention", "map", model, "--sample", "0", "--head", "0", "-o", image, "--force", "--quiet")
        results = context.json("compare", image)["results"]
        results += context.json("compare", image, "--methods", "chord", "--set", "chord.pattern=reference")["results"][1:]
        for number, result in enumerate(results):
            if result["status"] == "ok" and result["method"] != "as_is":
                title = {"truncated_svd": "truncated SVD", "nystrom": "Nyström", "cur": "CUR", "jl_projection": "JL projection",
                         "chord": "Chord"}.get(result["method"], result["method"])
                title += f" ({result['form']})" if result["method"] == "nystrom" else ""
                if result["method"] == "hierarchical":
                    title += ", the same bytes"
                elif result["rank"]:
                    title += f", rank {result['rank']}"
                title += ", `--pattern reference`" if number == len(results) - 1 else ""
                cells.setdefault(title, {})[name] = short(result["relative_error"])
    return table(["method", *models], [[title, *(row.get(name, "-") for name in models)] for title, row in cells.items()])


def psf_speed_torch(document):
    return f"PyTorch is {document['torch']}, the Chord product rolled and with a backward pass of its own."


@figure("psf_speed", "20", {"psf_speed": table_as_kept, "psf_speed.torch": psf_speed_torch}, slow=True, timed=True)
def psf_speed(context):
    found = context.script("attention", "--program", context.program, "--lengths", "128,1024,4096,16384", "--threads",
                           needs=["torch"])
    rows = [[row["length"], f"{row['seconds']:.3g}", f"{row['mib']:.0f}", f"{row['torch_seconds']:.3g}",
             f"{row['torch_mib']:.0f}", f"{row['torch_seconds'] / row['seconds']:.1f}", f"{row['two_threads']:.2f}",
             f"{row['two_programs']:.2f}"] for row in found["rows"]]
    return {**table(["N", "CPU s a step", "MiB", "PyTorch, CPU s", "MiB", "ratio", "two threads over one, wall clock",
                     "two programs of one thread over one"], rows), "torch": found["rows"][0]["torch"]}


# Growth of a layer's time with the length

GROWING = [name for name in MECHANISMS if name != "softmax"]


@figure("attention_growth", "5", timed=True)
def attention_growth(context):
    lengths = [1024, 65536]
    document = json.loads(context.run("attention", "bench", "--lengths", ",".join(map(str, lengths)), "--mechanisms",
                                      ",".join(GROWING), "--json", "-"))
    found = {(row["mechanism"], row["length"]): row for row in document["rows"]}

    def a_token(name, length):
        return f"{1e6 * found[name, length]['forward_seconds'] / length:.3g}"

    def grows(name, key):
        first, last = (found[name, length][key] for length in lengths)
        return f"N^{math.log(last / first) / math.log(lengths[1] / lengths[0]):.2f}"

    return table(["mechanism", *(f"µs a token at N = {grouped(length)}" for length in lengths), "time grows as", "multiplications grow as"],
                 [[name, *(a_token(name, length) for length in lengths), grows(name, "forward_seconds"), grows(name, "multiplications")]
                  for name in GROWING])


# Training steps of one layer compared with PyTorch, on each instruction set that the CPU has

PEER_MECHANISMS = {"softmax": "softmax", "linformer:rank=64": "Linformer, k = 64", "performer": "Performer"}
INSTRUCTION_SETS = {"AMX": "AVX-512 and AMX", "AVX3": "AVX-512", "AVX2": "AVX2"}


def attention_peers_table(document):
    cases = {}
    for row in document["rows"]:
        cases.setdefault((row["mechanism"], row["length"], row["heads"]), {})[row["instructions"]] = row
    sets = [name for name in INSTRUCTION_SETS if any(name in case for case in cases.values())]
    rows = []
    for (mechanism, length, heads), case in cases.items():
        times = [f"{1e3 * case[name]['torch_seconds']:.3g} / {1e3 * case[name]['seconds']:.3g} = {case[name]['ratio']:.2f}"
                 for name in sets]
        rows.append([PEER_MECHANISMS[mechanism], length, heads, *times,
                     short(max(row["gradient_difference"] for row in case.values())),
                     f"{max(row['mib'] for row in case.values()):.0f} / {min(row['torch_mib'] for row in case.values()):.0f}"])
    names = [f"{INSTRUCTION_SETS[name]}: PyTorch's ms / ours" for name in sets]
    return with_source(markdown(["mechanism", "N", "heads", *names, "gradients differ by", "MiB"], rows), document)


@figure("attention_peers", "15", {"attention_peers": attention_peers_table}, slow=True, timed=True)
def attention_peers(context):
    best = context.json("doctor")["instruction_set"]
    sets = list(INSTRUCTION_SETS)
    if best not in sets:
        raise Missing("a CPU with AVX2")
    found = context.script("attention_peers", "--program", context.program, "--mechanisms", ",".join(PEER_MECHANISMS),
                           "--instructions", ",".join(sets[sets.index(best):]), needs=["torch", "safetensors"])
    kept_keys = ("mechanism", "length", "heads", "instructions", "peer")
    rows = []
    for row in found["rows"]:
        numbers = {"seconds": row["seconds"], "torch_seconds": row["torch_seconds"][row["peer"]], "ratio": row["ratio"],
                   "gradient_difference": row["gradient_difference"], "mib": row["mib"], "torch_mib": row["torch_mib"]}
        rows.append({**{key: row[key] for key in kept_keys}, **{key: rounded(value, 3) for key, value in numbers.items()}})
    return {"torch": found["rows"][0]["torch"], "rows": rows}


# The same recipe on other CPUs.
by_hand("attention_peers_wide", "15", attention_peers_table)
by_hand("attention_peers_amx", "15", attention_peers_table)


# Errors of predictors that do not mix tokens

MEASURED_BASELINES = {"pathfinder_14": ["pathfinder", "--contour", "14"], "pathfinder_6": ["pathfinder", "--contour", "6"],
                      "free_14": ["pathfinder", "--contour", "14", "--mismatch", "64"],
                      "free_6": ["pathfinder", "--contour", "6", "--mismatch", "64"],
                      "recall": ["associative_recall"], "copy": ["copy"]}


def task_baselines_table(document):
    found = {name: percent(error, 0) for name, error in document["errors"].items()}
    return with_source(markdown(["task", "predictor", "error"], [
        ["`adding`", "the constant ½ (mean squared error 1/24)", "(1 − 2 · 0.04)² = 84.64 %"],
        ["", "first token, marked in a share p of the samples (p = 2/N for all gaps)", "84.64 % (1 − p) + 84 % p"],
        ["`temporal_order`", "majority class", "75 %"],
        ["", "first token, a signal in a share p", "75 % (1 − p) + 50 % p"],
        ["", "numbers of X and Y, without their order", "25 %"],
        ["`listops`", "majority class; first token, the root's operator; the root without its subtrees: its operator and its "
         "value on the children that are digits", "measured, below"],
        ["`pathfinder`", "majority class", "50 %"],
        ["", "distance of the markers", f"measured: {found['pathfinder_14']} for a contour of 14, {found['pathfinder_6']} for 6"],
        ["`associative_recall`", "majority class", "1 − 1/values"],
        ["", "most frequent value of the sample", f"measured: {found['recall']}"],
        ["`copy`", "majority class", "1 − 1/symbols"],
        ["", "most frequent symbol of the sample", f"measured: {found['copy']}"]]), document)


def task_baselines_pathfinder(document):
    right = {name: percent(1 - error, 0) for name, error in document["errors"].items()}
    return (f"Without that (`--mismatch 64`) the distance alone is right in {right['free_14']} of the images with contours of "
            f"14 dashes and {right['free_6']} with 6.")


@figure("task_baselines", "2", {"task_baselines": task_baselines_table,
                                "task_baselines.pathfinder": task_baselines_pathfinder})
def task_baselines(context):
    errors = {}
    for name, task in MEASURED_BASELINES.items():
        document = trained(context, "baselines", "--task", *task, "--attention", "mean", "--width", "8", "--steps", "1",
                           "--batch", "1", "--evaluation-samples", "1", "--test-samples", "10000")
        errors[name] = list(baselines(document).values())[-1]
    return {"errors": errors}
