#!/usr/bin/env python3
"""Which attention mechanisms learn a task that needs attention, and that what mixes no tokens does not.

    tests/acceptance/learning.py PROGRAM FOLDER [--length 64] [--seeds 1,2,3] [--mechanisms NAME,...] [--json OUT.json]

The first token alone is read, so that what the head needs gets there only by attention. The Adding problem, the sum of two
marked numbers; and for Linformer and its revision, which mix tokens in the same way for every sample and whose weights
cannot find the marks, Temporal Order: which of two signals came first. As many runs side by side as there are CPUs; runs
that lie in FOLDER are not done again. Passes where the share of wrong test samples is at most 5 % for every seed of every
mechanism, and the two controls are near their floors with every seed: tokenwise, which reads no other token, at 75 % or
more of Adding and 70 % of Temporal Order, and mean, which weighs all alike, at 75 % and, as it can tell which signals there
are but not their order, 20 %. About half an hour of CPU time, by hand.

All but PSF-Attn, which has a configuration of its own (configs/psf/adding_cls.toml): one post_norm block of width 32. On
Adding four heads (FLASH: one), feed-forward of twice the width, 1500 steps of 40 samples, of Singularformer two blocks; on
Temporal Order the settings of `reproduce figure5`: one head, feed-forward of the same width, 2000 steps.
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
    """Wrong test samples in percent."""
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
