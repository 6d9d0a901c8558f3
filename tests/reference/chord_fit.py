#!/usr/bin/env python3
"""Fits Chord factors to six small matrices in NumPy, on dense matrices and independently of the library: it shares no
code, no start and no optimizer settings with it.

    chord_fit.py > chord_fit.csv

For each matrix three starts: Adam (steps 0.1, cosine annealing, 4000 steps), then SciPy's L-BFGS-B. The file contains the
best and the worst of the three errors |A - W_1...W_M|_F, and |A|_F to check that both sides use the same matrix.
Takes about five minutes on one core.
"""
import csv
import math
import sys

import numpy as np
from scipy.optimize import minimize

STARTS = 3
ADAM_STEPS = 4000


def grid(width):
    """-1 between neighbors of a width x width grid with one diagonal in each square, and 4 on the diagonal."""
    n = width * width
    A = 4.0 * np.eye(n)
    for x in range(width):
        for y in range(width):
            for u, v in ((x + 1, y), (x, y + 1), (x + 1, y + 1)):
                if u < width and v < width:
                    A[x * width + y, u * width + v] = A[u * width + v, x * width + y] = -1.0
    return A


def permutation(n, step):
    """Row i has its 1 in column step i + 3 mod n."""
    A = np.zeros((n, n))
    A[np.arange(n), (step * np.arange(n) + 3) % n] = 1.0
    return A


def matrices():
    i, j = np.meshgrid(np.arange(62), np.arange(62), indexing="ij")
    yield "grid", grid(6)
    yield "permutation", permutation(31, 7)
    yield "ar1", 0.7 ** np.abs(i - j)[:40, :40].astype(float)
    yield "parter", (1.0 / (i - j + 0.5))[:50, :50]
    yield "cosine", np.cos(math.pi * (2 * j + 1) * i / 48)[:24, :24]
    yield "waves", np.sin(i * j / 7.0) + np.where(i == j, 3.0, 0.0)


def chord_mask(n):
    """Mask of the entries stored by a factor of the reference pattern: columns i, i + 1, i + 2, i + 4 ... mod n."""
    links = [0] + [2**k for k in range(int(math.floor(math.log2(n))))]
    mask = np.zeros((n, n), bool)
    for offset in links:
        mask[np.arange(n), (np.arange(n) + offset) % n] = True
    return mask, math.ceil(math.log2(n))


class Problem:
    def __init__(self, A):
        self.scale = np.linalg.norm(A) / math.sqrt(len(A))
        self.X = A / self.scale
        self.mask, self.factors = chord_mask(len(A))
        self.per_factor = int(self.mask.sum())

    def dense(self, values):
        W = np.zeros((self.factors,) + self.X.shape)
        W[:, self.mask] = values.reshape(self.factors, -1)
        return W

    def objective(self, values):
        """Returns f and its gradient, by the dense formula dW_m = L_m^T R T_m^T."""
        W = self.dense(values)
        left = [np.eye(len(self.X))]
        for factor in W[:-1]:
            left.append(left[-1] @ factor)
        right = [np.eye(len(self.X))]
        for factor in W[:0:-1]:
            right.append(factor @ right[-1])
        right.reverse()
        R = left[-1] @ W[-1] - self.X
        gradient = np.concatenate([(L.T @ R @ T.T)[self.mask] for L, T in zip(left, right)])
        return 0.5 * float(np.sum(R * R)), gradient

    def fit(self, seed):
        generator = np.random.default_rng(seed)
        W = np.zeros((self.factors,) + self.X.shape)
        share = self.mask.sum(axis=1)[0] - 1
        W[:, self.mask] = 0.5 / share
        W += 0.5 * np.eye(len(self.X)) * (1 - 1 / share)
        x = W[:, self.mask].ravel() + 0.15 * generator.standard_normal(self.factors * self.per_factor)
        mean, square = np.zeros_like(x), np.zeros_like(x)
        best, best_x = math.inf, x
        for t in range(1, ADAM_STEPS + 1):
            f, g = self.objective(x)
            if f < best:
                best, best_x = f, x.copy()
            mean = 0.9 * mean + 0.1 * g
            square = 0.98 * square + 0.02 * g * g
            step = 0.1 * min(1.0, t / 100) * 0.5 * (1 + math.cos(math.pi * t / ADAM_STEPS))
            x = x - step * (mean / (1 - 0.9**t)) / (np.sqrt(square / (1 - 0.98**t)) + 1e-12)
        result = minimize(self.objective, best_x, jac=True, method="L-BFGS-B",
                          options={"maxiter": 1000, "maxcor": 20, "ftol": 1e-12})
        return math.sqrt(2 * min(best, result.fun)) * self.scale


def main():
    table = csv.writer(sys.stdout, lineterminator="\n")
    table.writerow(["name", "n", "norm", "best_error", "worst_error"])
    for name, A in matrices():
        errors = [Problem(A).fit(seed) for seed in range(STARTS)]
        row = [np.linalg.norm(A), min(errors), max(errors)]
        table.writerow([name, len(A)] + [f"{value:.10g}" for value in row])
        sys.stdout.flush()


main()
