"""Stages what the site is made of, and calls Sphinx; run by `scripts/site` in its environment.

    build.py SITE_FOLDER STAGE_FOLDER

The documents are staged where they are in the repository, so that their links work in both places:
README.md is the front page, a linked file becomes a download, and a linked folder a page that lists
its files.
"""

import hashlib
import os
import re
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

from cpp_reference import write_reference
from sphinx.cmd.build import main as sphinx

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
LINK = re.compile(r"(\]\()([^)#:\s]+)((?:#[^)\s]*)?\))")
# What notebooks read.
DATA = ["matrices"]


class Stage:
    """A folder that gets the files of the site; those that stay the same keep their time, so that
    Sphinx reads only what has changed."""

    def __init__(self, folder):
        self.folder = folder
        self.written = set()

    def write(self, name, content):
        target = self.folder / name
        if name in self.written:
            return
        self.written.add(name)
        content = content.encode() if isinstance(content, str) else content
        if not target.exists() or target.read_bytes() != content:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)

    def copy(self, source):
        self.write(str(source.relative_to(ROOT)), source.read_bytes())

    def document(self, source, name=None, more=""):
        """A page, with links to the README and to folders turned to the pages that stand for them;
        files that it links to come with it."""

        name = name or str(source.relative_to(ROOT))

        def linked(match):
            target = (source.parent / match.group(2)).resolve()
            if not target.exists() or not target.is_relative_to(ROOT):
                return match.group(0)
            if target.is_dir():
                self.listing(target)
                target = target / "index.md"
            elif target == ROOT / "README.md":
                target = ROOT / "index.md"
            elif target.suffix != ".md":
                self.copy(target)
            path = os.path.relpath(target, (ROOT / name).parent)
            return f"{match.group(1)}{path}{match.group(3)}"

        text = LINK.sub(linked, source.read_text(encoding="utf-8"))
        self.write(name, text + more)

    def listing(self, folder):
        files = [file for file in sorted(folder.iterdir()) if file.is_file()]
        for file in files:
            self.copy(file)
        name = folder.relative_to(ROOT)
        links = "\n".join(f"- [{file.name}]({file.name})" for file in files)
        # A README of the folder is in the contents itself.
        self.write(f"{name}/index.md", f"---\norphan: true\n---\n\n# {name}\n\n{links}\n")

    def remove_others(self):
        for file in sorted(self.folder.rglob("*"), reverse=True):
            if file.is_file() and str(file.relative_to(self.folder)) not in self.written:
                file.unlink()
            elif file.is_dir() and not any(file.iterdir()):
                file.rmdir()


def forget_stale_outputs(cache):
    """What notebooks gave is kept as long as neither their code nor what they run has changed."""
    program = Path(shutil.which("matapprox")).resolve()
    package = Path(find_spec("matapprox").origin).parent
    files = [program, program.parent / "matapprox-attention"]
    files += [*sorted(package.glob("*.py")), *sorted(package.glob("*.so"))]
    content = hashlib.sha256()
    for file in files:
        content.update(file.read_bytes())
    made_by = cache / "made-by"
    if not made_by.exists() or made_by.read_text() != content.hexdigest():
        shutil.rmtree(cache, ignore_errors=True)
        cache.mkdir(parents=True)
        made_by.write_text(content.hexdigest())


def main():
    site, folder = (Path(argument).resolve() for argument in sys.argv[1:])
    stage = Stage(folder)
    stage.document(
        ROOT / "README.md", "index.md", (HERE / "contents.md").read_text(encoding="utf-8")
    )
    stage.document(ROOT / "configs/README.md")
    for document in sorted((ROOT / "docs").glob("*.md")):
        stage.document(document)
    for notebook in sorted((ROOT / "docs/notebooks").glob("*.md")):
        stage.document(notebook)
    for data in DATA:
        for file in sorted((ROOT / data).iterdir()):
            if file.is_file():
                stage.copy(file)
    stage.document(HERE / "python.md", "reference/python.md")
    for name, text in write_reference(ROOT / "include/matapprox"):
        stage.write(f"reference/cpp/{name}.md", text)
    stage.remove_others()
    cache, doctrees = folder.parent / "site-cache", folder.parent / "site-doctrees"
    forget_stale_outputs(cache)
    options = ["-q", "-W", "--keep-going", "-b", "html", "-c", str(HERE), "-d", str(doctrees)]
    keeping = ["-D", f"nb_execution_cache_path={cache}"]
    status = sphinx([*options, *keeping, str(folder), str(site)])
    if status == 0:
        print(f"the site is in {site}: open {site / 'index.html'}")
    return status


if __name__ == "__main__":
    sys.exit(main())
