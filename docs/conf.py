"""Sphinx: the docs site, which loads nothing from anywhere; `make docs` builds it."""

from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from pygments.lexers.python import PythonLexer

import rnca

project = "rnca"
author = "The rnca developers"
version = release = rnca.__version__
extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["templates", "api/backreferences", "gallery/*.md5"]
templates_path = ["templates"]
default_role = "py:obj"

html_theme = "pydata_sphinx_theme"
html_title = f"rnca {release}"
html_show_sourcelink = False
html_theme_options = {
    "navbar_align": "left",
    "navbar_persistent": ["search-button"],
    "navbar_end": ["report-link", "theme-switcher"],
    "show_prev_next": False,
    "footer_end": [],
    # Wide tables take the room of the list of sections.
    "secondary_sidebar_items": {
        "**": ["page-toc"],
        **{page: [] for page in ("coming-from", "guarantees", "reproduce", "sizing")},
    },
}

# Pages without pages below them.
html_sidebars = {page: [] for page in ("guide", "own-data", "faq", "coming-from")}

myst_heading_anchors = 3
myst_enable_extensions = ["attrs_block", "colon_fence"]
myst_fence_as_directive = ["math"]  # what forges show as a formula
html_math_renderer = "mathml"
math_fonts = "Latin Modern Math, STIX Two Math, Cambria Math, DejaVu Math TeX Gyre, math"

autosummary_generate = True
autodoc_typehints = "none"  # the docstrings say more
numpydoc_show_class_members = False  # the pages of classes show their methods in full
numpydoc_class_members_toctree = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "within_subsection_order": "FileNameSortKey",
    "backreferences_dir": "api/backreferences",
    "doc_module": ("rnca",),
    "download_all_examples": False,
    "show_signature": False,
    "show_memory": False,
    "write_computation_times": False,
    "abort_on_example_error": True,
}


def skip_scikit_learn(
    app: Any, what: str, name: str, member: Any, skip: bool, options: Any
) -> bool | None:
    """Leave out what classes inherit from scikit-learn, such as `get_params`."""
    function = getattr(member, "fget", member)
    return True if str(getattr(function, "__module__", "")).startswith("sklearn") else None


def write_formula(translator: Any, node: Any) -> None:
    """Write a formula as MathML, which browsers show without a script."""
    formula = tex2mathml(node.astext(), as_block=not isinstance(node, nodes.math))
    style = f"font-family: {math_fonts}; padding: 0.5em 0"
    translator.body.append(formula.replace("<math", f'<math style="{style}"', 1))
    raise nodes.SkipNode


def setup(app: Any) -> None:
    """Connect the hooks, and show Snakemake's rules as Python."""
    app.add_lexer("snakemake", PythonLexer)
    app.add_html_math_renderer("mathml", (write_formula, None), (write_formula, None))
    app.connect("autodoc-skip-member", skip_scikit_learn)
