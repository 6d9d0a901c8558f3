"""How Sphinx turns the staged documents into the site; `scripts/site` stages them and calls it."""

import re
from importlib.metadata import version as installed

from docutils import nodes

project = "matapprox"
author = "The matapprox authors"
copyright = "the matapprox authors, BSD-3-Clause"
version = release = installed("matapprox")

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
exclude_patterns = ["docs/site"]
# Most blocks are shell sessions and formulas.
highlight_language = "text"

# Anchors as the web view of a repository makes them, down to the deepest heading.
myst_heading_anchors = 6
suppress_warnings = ["myst.header"]

# Notebooks run as the site is built, each in a kernel of its own, again where one has changed.
nb_execution_mode = "cache"
nb_execution_timeout = 120
nb_execution_raise_on_error = True
nb_merge_streams = True

default_role = "code"
autodoc_member_order = "groupwise"
# 200 MB for a few signatures.
autodoc_mock_imports = ["torch"]
autodoc_typehints = "signature"
napoleon_numpy_docstring = True
napoleon_google_docstring = False
napoleon_use_rtype = False

html_theme = "furo"
html_title = f"matapprox {release}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False


def take_as_text(app, what, name, object_, options, lines):
    """Docstrings are plain text: |x| is no substitution, and `components_` no link."""
    for k, line in enumerate(lines):
        if not line.lstrip().startswith(".."):
            parts = re.split(r"(`[^`]*`)", line)
            parts[::2] = [re.sub(r"\||(?<=\w)_(?!\w)", r"\\\g<0>", part) for part in parts[::2]]
            lines[k] = "".join(parts)


def keep_cells_whole(app, doctree, _):
    """Numbers in tables are not broken behind the sign of an exponent."""
    for cell in doctree.findall(nodes.entry):
        if len(cell.astext()) <= 16:
            cell["classes"].append("whole")


def setup(app):
    app.connect("doctree-resolved", keep_cells_whole)
    # After napoleon.
    app.connect("autodoc-process-docstring", take_as_text, priority=900)
