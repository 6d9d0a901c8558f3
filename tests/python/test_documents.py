"""The examples of docs/python.md run."""

import importlib.util
import re
from pathlib import Path

import numpy as np

DOCUMENT = Path(__file__).parents[2] / "docs" / "python.md"


def test_examples_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    assert len(blocks) == 3
    names = {}
    for block in blocks:
        if "import torch" in block and importlib.util.find_spec("torch") is None:
            continue
        exec(block, names)
    assert "truncated_svd" in capsys.readouterr().out
    assert names["features"].shape == (2000, 40)
    if "torch" in names:
        B, x = names["B"], names["x"]
        np.testing.assert_allclose(x.grad, 2 * (B.T @ (B @ x.detach().numpy())), rtol=2e-4)
        assert names["layer"].query.weight.grad.shape == (32, 32)
