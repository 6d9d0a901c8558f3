"""How Sphinx turns the staged documents into the site; `scripts/site` stages them and calls it."""

from importlib.metadata import version as installed

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

autodoc_member_order = "groupwise"
autodoc_typehints = "signature"
napoleon_numpy_docstring = True
napoleon_google_docstring = False
napoleon_use_rtype = False

html_theme = "furo"
html_title = f"matapprox {release}"
html_static_path = ["docs/site/static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
