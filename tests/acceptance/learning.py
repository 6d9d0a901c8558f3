#!/usr/bin/env python3
"""Checks which attention mechanisms learn a task that needs attention, and that the baselines do not.

    tests/acceptance/learning.py PROGRAM FOLDER [--length 64] [--seeds 1,2,3] [--mechanisms NAME,...] [--json OUT.json]

Only the first token is read, so that the head gets its information through attention alone. The task is the Adding problem,
the sum of two marked numbers. Linformer and its revision mix tokens in the same way for every sample, so their weights
cannot find the marks; their task is Temporal Order: which of two signals came first. As many runs as there are CPUs run at
the same time; runs whose results are in FOLDER are not repeated. Passes if at most 5 % of the test samples are wrong for
every seed of every mechanism, and if the two baselines stay near their expected errors with every seed: tokenwise, which
reads no other token, at 75 % or more on Adding and 70 % on Temporal Order; mean, which weighs all tokens alike, at 75 % and
at 20 %, because it can detect which signals there are but not their order. Takes about half an hour of CPU time; run by
hand.

Every mechanism except PSF-Attn, which has a configuration of its own (configs/psf/adding_cls.toml), has one post_norm block
of width 32 (Singularformer two on Adding). On Adding: four heads (FLASH: one), feed-forward of twice the width, 1500 steps
of 40 samples. On Temporal Order the settings of `reproduce figure5`: one head, feed-forward of the same width, 2000 steps.
"""
import argparse
import concurrent.futures
import json
import os
import subprocess
import sys
from pathlib import Path

CONFIG = Path(__file__).resolve().parents[2] / "configs" / "psf" / "adding_cls.toml"
CONTROLS = {"tokenwise": {"adding": 75.0, "temporal_order": 70.0}, "mean": {"adding": 75.0, "temporal_order": 20.0}}
FIXED_MIXTURES = ["linformer", "revisited_linformer"]
SOLVED = 5.0


def tasks_of(mechanism):
    if mechanism in CONTROLS:
        return ["adding", "temporal_order"]
    return ["temporal_order" if mechanism in FIXED_MIXTURES else "adding"]


def settings(mechanism, task):
    if mechanism == "psf":
        return ["--config", str(CONFIG)]
    common = ["--task", task, "--attention", mechanism, "--pool", "cls", "--width", "32", "--block", "post_norm", "--learning-rate",
              "0.002", "--schedule", "cosine", "--warmup", "100", "--batch", "40"]
    if task == "temporal_order":
        rank = ["--rank", "32"] if mechanism in FIXED_MIXTURES else []
        return [*common, "--heads", "1", "--feed-forward", "1", "--positions", "learned", "--steps", "2000", *rank]
    layers = "2" if mechanism == "singularformer" else "1"
    return [*common, "--heads", "1" if mechanism == "flash" else "4", "--feed-forward", "2", "--steps", "1500", "--layers", layers]


def error(options, mechanism, task, seed):
    """Percentage of wrong test samples."""
    document = options.folder / f"{task}_{mechanism}_{options.length}_{seed}.json"
    if not document.exists():
        part = document.with_suffix(".part")
        subprocess.run([options.program, "attention", "train", *settings(mechanism, task), "--length", str(options.length), "--seed",
                        str(seed), "--threads", "1", "--json", part, "--force", "--quiet", "-o", document.with_suffix(".h5")],
                       check=True, stdout=subprocess.DEVNULL)
        part.rename(document)
    return 100 * json.loads(document.read_text())["result"]["error"]


def verdict(mechanism, task, errors):
    if mechanism in CONTROLS:
        return "ok" if min(errors) >= CONTROLS[mechanism][task] else "FAILED: a control solves it"
    return "ok" if max(errors) <= SOLVED else "FAILED"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--length", type=int, default=64)
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--mechanisms")
    parser.add_argument("--json", type=Path, help="also write the errors to this file")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    listed = subprocess.run([options.program, "attention", "list", "--json", "-"], check=True, capture_output=True)
    known = [each["name"] for each in json.loads(listed.stdout)["mechanisms"]]
    mechanisms = options.mechanisms.split(",") if options.mechanisms else known
    seeds = [int(seed) for seed in options.seeds.split(",")]
    failed, rows = 0, []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = {(name, task): [pool.submit(error, options, name, task, seed) for seed in seeds]
                for name in mechanisms for task in tasks_of(name)}
        for (name, task), futures in runs.items():
            errors = [future.result() for future in futures]
            said = verdict(name, task, errors)
            failed += said.startswith("FAILED")
            rows.append({"mechanism": name, "task": task, "errors": errors, "verdict": said})
            print(f"{name:20} {task:15} {'  '.join(f'{each:6.2f}' for each in errors)} %  {said}", flush=True)
    if options.json:
        options.json.write_text(json.dumps({"rows": rows}, indent=1))
    sys.exit(1 if failed else 0)


main()
