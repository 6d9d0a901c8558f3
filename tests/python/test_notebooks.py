"""The code of the notebooks in docs/notebooks runs without Jupyter and gives the stated results.

The site shows the output and the figures; `scripts/site` runs the notebooks in their own kernels.
"""

import os
import re
from pathlib import Path

import numpy as np
import pytest

NOTEBOOKS = Path(__file__).parents[2] / "docs" / "notebooks"
CELL = re.compile(r"^```\{code-cell\}\n(.*?)^```$", re.DOTALL | re.MULTILINE)

plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture
def run(monkeypatch, capsys):
    """Returns a function that runs the cells of a notebook in order and returns its names and
    output."""
    # Paths of repository files in a notebook are relative to its folder.
    monkeypatch.chdir(NOTEBOOKS)
    # The paper's matrices on this machine are not part of the test.
    monkeypatch.setenv("MATAPPROX_MATRICES", "/nonexistent")
    plt.switch_backend("agg")

    def run(name):
        cells = CELL.findall((NOTEBOOKS / f"{name}.md").read_text(encoding="utf-8"))
        assert len(cells) >= 4
        names = {"__name__": name}
        for number, cell in enumerate(cells):
            exec(compile(cell, f"{name}.md, cell {number}", "exec"), names)
        return names, capsys.readouterr().out

    yield run
    plt.close("all")


def test_each_notebook_has_a_test_here():
    tested = {name.removeprefix("test_").replace("_", "-") for name in globals()}
    assert {path.stem for path in NOTEBOOKS.glob("*.md")} <= tested


def test_image(run):
    names, _ = run("image")
    image, best, svd = names["image"], names["best"], names["svd"]
    assert svd.storage.nbytes <= best.storage.nbytes <= 0.03 * 8 * image.size
    error = np.linalg.norm(best.toarray() - image) / np.linalg.norm(image)
    assert error < 0.5 * np.linalg.norm(svd.toarray() - image) / np.linalg.norm(image)
    assert best.measurement.relative_error == pytest.approx(error)


def test_large_kernel(run):
    names, _ = run("large-kernel")
    fitted, truth, left = names["fitted"], names["truth"], names["left"]
    assert np.sqrt(np.mean((fitted - truth) ** 2)) < 0.1 * 0.5
    assert left == sorted(left, reverse=True)
    assert 0 < left[-1] < 0.01 * left[0]


def test_graph(run):
    names, _ = run("graph")
    assert np.mean(names["nearest"] == names["group"]) > 0.95
    s = names["s"]
    assert s[3] - s[4] > 2 * (s[4] - s[5])
    low_rank = names["comparison"]["truncated_svd"]["relative_error"]
    assert names["ma"].measure(names["L"], names["chord"]).relative_error < 0.1 * low_rank
    assert names["found"].storage.nbytes < 0.5 * 8 * 360**2


def test_table1(run):
    names, printed = run("table1")
    assert printed.count("fetch it with") == len(names["rows"])
    errors = [float(error) for error in re.findall(r"numbers, error (\S+)", printed)]
    svd, reference, auto = errors
    assert auto < reference < svd
    A = names["ar1"].toarray()
    singular = np.linalg.svd(A, compute_uv=False)
    assert svd == pytest.approx(np.linalg.norm(singular[32:]), rel=1e-3)


@pytest.mark.usefixtures("attention_program")
def test_attention(run, monkeypatch):
    program = os.environ["MATAPPROX_PROGRAM"]
    monkeypatch.setenv("PATH", f"{Path(program).parent}{os.pathsep}{os.environ['PATH']}")
    names, printed = run("attention")
    assert "(exact)" in printed
    assert names["history"][-1]["validation_error"] < 0.1
    assert names["maps"][0].shape == (64, 64)
