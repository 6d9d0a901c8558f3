"""The examples of docs/python.md run."""

import re
from pathlib import Path

DOCUMENT = Path(__file__).parents[2] / "docs" / "python.md"


def test_examples_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    assert len(blocks) == 2
    names = {}
    for block in blocks:
        exec(block, names)
    assert "truncated_svd" in capsys.readouterr().out
    assert names["features"].shape == (2000, 40)
