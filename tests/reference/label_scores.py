#!/usr/bin/env python3
"""F1 and areas under ROC curves of sets of labels, computed by scikit-learn.

    label_scores.py > label_scores.json

Scores have one decimal, so that many are equal; a label is predicted if its score is above 0. Some labels occur on no
sample, on all samples, or are never predicted.
"""
import json
import sys
import warnings

import numpy as np
import sklearn
from sklearn.metrics import f1_score, roc_auc_score

CASES = ((1, 1), (5, 3), (40, 4), (60, 7), (200, 2))


def case(rng, samples, labels):
    targets = (rng.random((samples, labels)) < rng.random(labels)).astype(int)
    scores = np.round(rng.normal(size=(samples, labels)) + targets - 0.5, 1)
    if labels > 2:
        targets[:, 0] = 0
        targets[:, 1] = 1
        scores[:, 2] = -np.abs(scores[:, 2])
    given = (scores > 0).astype(int)
    areas = [roc_auc_score(targets[:, c], scores[:, c]) if 0 < targets[:, c].sum() < samples else None
             for c in range(labels)]
    f1 = {name: f1_score(targets.ravel() if name == "binary" else targets, given.ravel() if name == "binary" else given,
                         average=name, zero_division=0) for name in (("micro", "macro") if labels > 1 else ("binary",))}
    known = [area for area in areas if area is not None]
    return {"labels": labels, "scores": scores.ravel().tolist(), "targets": targets.ravel().tolist(),
            "micro_f1": f1.get("micro", f1.get("binary")), "macro_f1": f1.get("macro", f1.get("binary")),
            "areas": areas, "macro_auc": float(np.mean(known)) if known else 0.0}


def main():
    warnings.filterwarnings("error")
    rng = np.random.default_rng(7)
    result = {"scikit-learn": sklearn.__version__, "cases": [case(rng, *size) for size in CASES]}
    sys.stdout.write(json.dumps(result).replace(', "', ',\n"').replace("}, {", "},\n{") + "\n")


if __name__ == "__main__":
    main()
