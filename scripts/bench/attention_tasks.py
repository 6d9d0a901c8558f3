#!/usr/bin/env python3
"""All attention mechanisms on one task, with both kinds of head, several seeds: the table of docs/attention.md.

    attention_tasks.py --program build/default/bin/matapprox --folder runs [--task adding] [--length 128]
                       [--steps 1500] [--seeds 1,2,3] [--heads flatten,cls] [--mechanisms all] [--small] [--json FILE] [-- OPTION ...]

Every run is one model and one JSON document in the folder; existing runs are not repeated, so an interrupted table is
resumed. The results are median test errors of the seeds with their range, and the baselines.
All models: one post_norm block of width 32, four heads (PSF, FLASH: one), feed-forward of twice the width.
"""
import json
import statistics
import subprocess
import sys
from pathlib import Path

from common import parser, write

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
    arguments = parser(__doc__, program="matapprox")
    arguments.add_argument("--folder", type=Path, required=True)
    arguments.add_argument("--task", default="adding")
    arguments.add_argument("--length", type=int, default=128)
    arguments.add_argument("--steps", type=int, default=1500)
    arguments.add_argument("--seeds", default="1,2,3")
    arguments.add_argument("--heads", default="flatten,cls")
    arguments.add_argument("--mechanisms", default="all")
    arguments.add_argument("extra", nargs="*", help="options of the training, after --")
    options = arguments.parse_args()
    if options.small:
        options.length, options.steps, options.seeds, options.heads, options.mechanisms = 16, 2, "1", "flatten", "psf,softmax"
        options.extra = ["--test-samples", "10"]
    options.folder.mkdir(parents=True, exist_ok=True)
    listed = subprocess.run([options.program, "attention", "list", "--json", "-"], check=True, capture_output=True)
    known = [each["name"] for each in json.loads(listed.stdout)["mechanisms"]]
    rows = []
    for mechanism in known if options.mechanisms == "all" else options.mechanisms.split(","):
        row = {"mechanism": mechanism, "parameters": {}, "errors": {}, "seconds": {}}
        for head in options.heads.split(","):
            results = [run(options, mechanism, head, int(seed), options.extra) for seed in options.seeds.split(",")]
            errors = sorted(100 * each["result"]["error"] for each in results)
            row["parameters"][head] = results[0]["model"]["parameters"]
            row["errors"][head] = {"median": statistics.median(errors), "least": errors[0], "largest": errors[-1]}
            row["seconds"][head] = statistics.median(each["training"]["seconds"] for each in results)
        print(json.dumps(row), file=sys.stderr, flush=True)
        rows.append(row)
    write(options, {"rows": rows, "baselines": results[0]["baselines"]})


main()
