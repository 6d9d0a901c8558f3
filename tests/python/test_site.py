"""Completeness of the documentation site: it contains all documents and all headers."""

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SITE = ROOT / "docs" / "site"


@pytest.fixture(scope="module")
def pages():
    """The pages of the C++ reference."""
    spec = importlib.util.spec_from_file_location("cpp_reference", SITE / "cpp_reference.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return dict(module.write_reference(ROOT / "include" / "matapprox"))


def section(page, name):
    return re.split(r"\n##+ ", page.split(f"\n### {name}\n", 1)[1])[0]


def test_each_document_is_in_the_contents():
    contents = (SITE / "contents.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^(docs/[\w/-]+\.md)$", contents, re.MULTILINE))
    there = [*(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "notebooks").glob("*.md")]
    assert listed == {str(path.relative_to(ROOT)) for path in there}


def test_each_header_is_in_the_reference(pages):
    text = "\n".join(pages.values())
    headers = sorted((ROOT / "include" / "matapprox").glob("*/**/*.hpp"))
    assert len(headers) > 70
    for header in headers:
        assert f"\n## {header.relative_to(ROOT / 'include')}\n" in text


def test_declarations_are_whole(pages):
    for name, page in pages.items():
        code = re.findall(r"^```cpp\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
        assert name == "index" or code
        for block in code:
            bare = re.sub(r'"(?:\\.|[^"\\\n])*"|//[^\n]*', "", block)
            assert bare.count("{") == bare.count("}"), block
            assert "namespace matapprox" not in bare


def test_comments_stand_above_and_private_members_are_left_out(pages):
    nystrom = section(pages["methods"], "nystrom")
    assert nystrom.index("Nystrom approximation of a square matrix.") < nystrom.index("```cpp")
    assert "///" not in nystrom
    kernel = section(pages["operators"], "KernelOperator")
    assert "const Matrix& points() const" in kernel
    assert "Matrix points_;" not in kernel
    # Private virtual functions are documented because users override them.
    assert "virtual void do_apply(" in section(pages["core"], "LinearOperator")
    # The names of values belong to their enumeration; a template is listed under its own name.
    assert 'values{"pivoted_cholesky", "uniform"' in re.sub(
        r"\s*\n\s*", "", section(pages["methods"], "NystromForm")
    )
    assert "template <class T>" in section(pages["mechanisms"], "make_attention")
    assert not re.search(r"^### (T|Options|void|private)$", "\n".join(pages.values()), re.MULTILINE)
