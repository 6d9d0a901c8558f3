#!/usr/bin/env python3
"""Runs scikit-learn's and SciPy's own tests with our classes in place of theirs.

    tests/python/peers.py [PYTEST ARGUMENTS]

Each failure must be listed below with its reason; exit code 1 if one is not. The tests are those
of the installed versions (requirements.txt). Run by hand, because their projects may change them.
"""

import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import scipy.sparse.linalg._interface as scipy_interface
import sklearn.decomposition
import sklearn.kernel_approximation
import sklearn.random_projection

import matapprox as ma
from matapprox import sklearn as ours

# Part of a test's name, and the reason of its failure.
REASONS = {
    "test_too_many_components[arpack-55]": "ARPACK cannot find all 55 triplets, ours can",
    "test_singular_values_expected[42-randomized]": "right to 1e-12; asked are 1e-14",
    "test_correct_RandomProjection_dimensions_embedding": "the density is that of Achlioptas, 1/3",
}


class GaussianRandomProjection(ours.RandomProjection):
    """Our class under the name that the tests use."""


class SparseRandomProjection(ours.RandomProjection):
    """Our class with a different default; the density is that of Achlioptas, 1/3."""

    def __init__(
        self,
        n_components="auto",
        *,
        kind="sparse",
        eps=0.1,
        dense_output=False,
        compute_inverse_components=False,
        random_state=None,
    ):
        super().__init__(
            n_components,
            kind=kind,
            eps=eps,
            dense_output=dense_output,
            compute_inverse_components=compute_inverse_components,
            random_state=random_state,
        )


def put_in_place():
    sklearn.decomposition.TruncatedSVD = ours.TruncatedSVD
    sklearn.kernel_approximation.Nystroem = ours.Nystroem
    sklearn.random_projection.GaussianRandomProjection = GaussianRandomProjection
    sklearn.random_projection.SparseRandomProjection = SparseRandomProjection
    original = scipy_interface.aslinearoperator

    def aslinearoperator(A):
        try:
            return ma.aslinearoperator(A)
        except ma.InvalidArgument:  # complex matrices and objects that are not matrices
            return original(A)

    scipy_interface.aslinearoperator = aslinearoperator


class Outcomes:
    """Counts the outcomes and collects the names of the failed tests."""

    def __init__(self):
        self.counts = {"passed": 0, "failed": 0, "skipped": 0}
        self.failed = []

    def pytest_runtest_logreport(self, report):
        if report.when == "call" or (report.when == "setup" and report.outcome != "passed"):
            self.counts[report.outcome] += 1
            if report.outcome == "failed":
                self.failed.append(report.nodeid)


def tests_of(package, path):
    return str(Path(find_spec(package).origin).parent / path)


def main():
    put_in_place()
    files = {
        "sklearn test_truncated_svd": tests_of(
            "sklearn", "decomposition/tests/test_truncated_svd.py"
        ),
        "sklearn test_kernel_approximation": tests_of(
            "sklearn", "tests/test_kernel_approximation.py"
        ),
        "sklearn test_random_projection": tests_of("sklearn", "tests/test_random_projection.py"),
        "scipy test_interface": tests_of("scipy", "sparse/linalg/tests/test_interface.py"),
    }
    unexplained = 0
    unused = dict(REASONS)
    for name, path in files.items():
        outcomes = Outcomes()
        arguments = ["-q", "-p", "no:cacheprovider", "-c", "/dev/null", *sys.argv[1:], path]
        pytest.main(arguments, plugins=[outcomes])
        print(f"{name}: " + ", ".join(f"{count} {word}" for word, count in outcomes.counts.items()))
        for test in outcomes.failed:
            part = next((part for part in REASONS if part in test), None)
            reason = REASONS.get(part)
            unused.pop(part, None)
            unexplained += reason is None
            print(f"  {test.split('::', 1)[1]}: {reason or 'NO REASON KNOWN'}")
    for part in unused:
        print(f"{part}: listed, but did not fail")
    return 1 if unexplained or unused else 0


if __name__ == "__main__":
    sys.exit(main())
