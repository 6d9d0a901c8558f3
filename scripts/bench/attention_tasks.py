#!/usr/bin/env python3
"""All attention mechanisms on one task, with both kinds of head, several seeds: the table of docs/attention.md.

    attention_tasks.py --program build/default/bin/matapprox --folder runs [--task adding] [--length 128]
                       [--steps 1500] [--seeds 1,2,3] [--heads flatten,cls] [--mechanisms all] [--small] [--json FILE] [-- OPTION ...]

Every run is one model and one JSON document in the folder; existing runs are not repeated, so an interrupted table is
resumed. Prints the median test error of the seeds with their range, and the baselines.
All models: one post_norm block of width 32, four heads (PSF, FLASH: one), feed-forward of twice the width.
"""
import argparse
import json
import statistics
import subprocess
from pathlib import Path

COMMON = ["--width", "32", "--heads", "4", "--layers", "1", "--block", "post_norm", "--feed-forward", "2",
          "--learning-rate", "0.002", "--schedule", "cosine", "--warmup", "100", "--batch", "40",
          "--evaluation-samples", "1000", "--evaluate-every", "250", "--threads", "1"]
SMALL = ["--evaluation-samples", "10", "--evaluate-every", "2", "--batch", "4"]
OWN = {"psf": ["--heads", "1"], "flash": ["--heads", "1"],
       "linformer": ["--rank", "32"], "revisited_linformer": ["--rank", "32"]}


def run(options, mechanism, head, seed, extra):
    name = f"{options.task}_{options.length}_{head}_{mechanism}_{seed}"
    document = options.folder / f"{name}.json"
    if not document.exists():
        model = options.folder / f"{name}.h5"
        command = [options.program, "attention", "train", "--task", options.task, "--length", str(options.length),
                   "--attention", mechanism, "--pool", head, "--steps", str(options.steps), "--seed", str(seed),
                   "--json", f"{document}.part", "--force", "--quiet", "-o", str(model)]
        if model.exists():
            command.append("--resume")
        common = list(COMMON)
        own = OWN.get(mechanism, []) + (SMALL if options.small else [])
        for flag, value in zip(own[::2], own[1::2]):
            if flag in common:
                common[common.index(flag) + 1] = value
            else:
                common += [flag, value]
        subprocess.run(command + common + extra, check=True, stdout=subprocess.DEVNULL)
        Path(f"{document}.part").rename(document)
    return json.loads(document.read_text())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/default/bin/matapprox")
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--task", default="adding")
    parser.add_argument("--length", type=int, default=128)
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--heads", default="flatten,cls")
    parser.add_argument("--mechanisms", default="all")
    parser.add_argument("--json", help="also write the table to this file")
    parser.add_argument("--small", action="store_true", help="tiny sizes, for a quick test")
    parser.add_argument("extra", nargs="*", help="options of the training, after --")
    options = parser.parse_args()
    if options.small:
        options.length, options.steps, options.seeds, options.heads, options.mechanisms = 16, 2, "1", "flatten", "psf,softmax"
        options.extra = ["--test-samples", "10"]
    options.folder.mkdir(parents=True, exist_ok=True)
    listed = subprocess.run([options.program, "attention", "list", "--json", "-"], check=True, capture_output=True)
    known = [each["name"] for each in json.loads(listed.stdout)["mechanisms"]]
    mechanisms = known if options.mechanisms == "all" else options.mechanisms.split(",")
    heads = options.heads.split(",")
    seeds = [int(seed) for seed in options.seeds.split(",")]
    baselines, rows = [], []
    print("| mechanism | parameters | " + " | ".join(f"{head}: median (range), s" for head in heads) + " |")
    print("|---" * (2 + len(heads)) + "|")
    for mechanism in mechanisms:
        cells = []
        parameters, kept = {}, {}
        for head in heads:
            results = [run(options, mechanism, head, seed, options.extra) for seed in seeds]
            errors = sorted(100 * each["result"]["error"] for each in results)
            seconds = statistics.median(each["training"]["seconds"] for each in results)
            parameters[head] = results[0]["model"]["parameters"]
            kept[head] = {"median": statistics.median(errors), "least": errors[0], "largest": errors[-1]}
            baselines = results[0]["baselines"]
            cells.append(f"{statistics.median(errors):.2f} ({errors[0]:.2f} .. {errors[-1]:.2f}), {seconds:.0f}")
        rows.append({"mechanism": mechanism, "parameters": parameters, "errors": kept})
        print(f"| {mechanism} | {parameters[heads[-1]]} | " + " | ".join(cells) + " |", flush=True)
    print("baselines: " + ", ".join(f"{each['name']} {100 * each['error']:.2f} %" for each in baselines))
    if options.json:
        Path(options.json).write_text(json.dumps({"rows": rows}, indent=1))


main()
