#!/usr/bin/env python3
"""Compiles all Python of the project: files, programs without the suffix, cells of notebooks, blocks of documents.

    python_sources.py [PROJECT]

Nothing is run. Warnings of the compiler count too. Prints each file that does not compile; exit status 0 if there is
none.
"""
import re
import sys
import warnings
from pathlib import Path

LEFT_OUT = {"build", ".git", "__pycache__", ".venv"}
BLOCK = re.compile(r"^```(?:python|\{code-cell\}[^\n]*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
CELL_OPTION = re.compile(r"^:[\w-]+:.*$", re.MULTILINE)  # :tags: [hide-input]


def files(folder):
    for path in sorted(folder.iterdir()):
        if path.name in LEFT_OUT or path.is_symlink():
            continue
        if path.is_dir():
            yield from files(path)
        else:
            yield path


def is_program(path):
    if path.suffix:
        return False
    with open(path, "rb") as file:
        first = file.readline(200)
    return first.startswith(b"#!") and b"python" in first


def sources(path):
    """Yields (text, number of lines before it in the file) of all Python in a file."""
    if path.suffix in (".py", ".pyi") or is_program(path):
        yield path.read_text(encoding="utf-8"), 0
    elif path.suffix == ".md":
        text = path.read_text(encoding="utf-8")
        for block in BLOCK.finditer(text):
            yield CELL_OPTION.sub("", block[1]), text.count("\n", 0, block.start(1))


def main():
    project = Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    warnings.simplefilter("error")
    compiled, wrong = 0, []
    for path in files(project):
        for text, before in sources(path):
            compiled += 1
            try:
                compile("\n" * before + text, str(path.relative_to(project)), "exec", dont_inherit=True)
            except (SyntaxError, ValueError, Warning) as error:
                wrong.append(f"{path.relative_to(project)}:{getattr(error, 'lineno', None) or before + 1}: {error}")
    for line in wrong:
        print(line)
    print(f"{compiled} sources, {len(wrong)} that do not compile")
    return 1 if wrong or compiled == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
