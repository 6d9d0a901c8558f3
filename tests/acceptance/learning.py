#!/usr/bin/env python3
"""Which attention mechanisms learn a task that needs attention, and that what mixes no tokens does not.

    tests/acceptance/learning.py PROGRAM FOLDER [--length 64] [--seeds 1,2,3] [--mechanisms NAME,...]

The Adding problem with a head that reads the first token alone: the sum of two marked numbers gets there only by
attention. As many runs side by side as there are CPUs; runs that lie in FOLDER are not done again. Passes where the share
of wrong test samples is at most 5 % for every seed of every mechanism, and at least 75 % for the two controls: tokenwise,
which reads no other token, and mean, which weighs all alike. Linformer and its revision mix tokens in the same way for
every sample and are not held to it: what they reach is printed. About half an hour of CPU time, by hand.

All but PSF-Attn, which has a configuration of its own (configs/psf/adding_cls.toml): one post_norm block of width 32, four
heads (FLASH: one), feed-forward of twice the width, 1500 steps of 40 samples; of Singularformer two blocks.
"""
import argparse
import concurrent.futures
import json
import os
import subprocess
import sys
from pathlib import Path

CONFIG = Path(__file__).resolve().parents[2] / "configs" / "psf" / "adding_cls.toml"
CONTROLS = ["tokenwise", "mean"]
FIXED_MIXTURES = ["linformer", "revisited_linformer"]
SOLVED, NOT_SOLVED = 5.0, 75.0


def settings(mechanism):
    if mechanism == "psf":
        return ["--config", str(CONFIG)]
    own = {"singularformer": ["--layers", "2"], "linformer": ["--rank", "32"], "revisited_linformer": ["--rank", "32"]}
    return ["--task", "adding", "--attention", mechanism, "--pool", "cls", "--width", "32", "--heads", "1" if mechanism == "flash" else "4",
            "--block", "post_norm", "--feed-forward", "2", "--learning-rate", "0.002", "--schedule", "cosine", "--warmup", "100",
            "--batch", "40", "--steps", "1500", *own.get(mechanism, [])]


def error(options, mechanism, seed):
    """Wrong test samples in percent."""
    document = options.folder / f"{mechanism}_{options.length}_{seed}.json"
    if not document.exists():
        part = document.with_suffix(".part")
        subprocess.run([options.program, "attention", "train", *settings(mechanism), "--length", str(options.length), "--seed", str(seed),
                        "--threads", "1", "--json", part, "--force", "--quiet", "-o", document.with_suffix(".h5")],
                       check=True, stdout=subprocess.DEVNULL)
        part.rename(document)
    return 100 * json.loads(document.read_text())["result"]["error"]


def verdict(mechanism, errors):
    if mechanism in CONTROLS:
        return "ok" if min(errors) >= NOT_SOLVED else "FAILED: a control solves it"
    if max(errors) <= SOLVED:
        return "ok"
    return "not held to it" if mechanism in FIXED_MIXTURES else "FAILED"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--length", type=int, default=64)
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--mechanisms")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    listed = subprocess.run([options.program, "attention", "list", "--json", "-"], check=True, capture_output=True)
    known = [each["name"] for each in json.loads(listed.stdout)["mechanisms"]]
    mechanisms = options.mechanisms.split(",") if options.mechanisms else known
    seeds = [int(seed) for seed in options.seeds.split(",")]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = {name: [pool.submit(error, options, name, seed) for seed in seeds] for name in mechanisms}
        for name, futures in runs.items():
            errors = [future.result() for future in futures]
            said = verdict(name, errors)
            failed += said.startswith("FAILED")
            print(f"{name:20} {'  '.join(f'{each:6.2f}' for each in errors)} %  {said}", flush=True)
    sys.exit(1 if failed else 0)


main()
