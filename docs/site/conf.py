"""The documentation's site, as Sphinx reads it. deploy/site calls it, in a copy of the repository's pages."""

import os
import pathlib
import re

root = pathlib.Path(os.environ["HONE_ROOT"])

project = "Hone"
copyright = "the authors of Hone, Apache License 2.0"
version = release = re.search(r"project\(hone VERSION (\S+)", (root / "CMakeLists.txt").read_text())[1]

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
root_doc = "index"
myst_heading_anchors = 3  # README.md#limits, as forges have it
highlight_language = "text"

autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
python_use_unqualified_type_names = True

html_theme = "furo"
html_title = f"Hone {version}"
html_static_path = ["_static"]
html_css_files = ["hone.css"]
html_copy_source = False  # pages are in the repository
html_show_sphinx = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0a58ab", "color-brand-content": "#0a58ab"},
    "dark_css_variables": {"color-brand-primary": "#58a6ff", "color-brand-content": "#58a6ff"},
}

# A prompt, or what is printed, is not to be typed.
copybutton_exclude = ".linenos, .gp, .go"


def folder_as_text(app, env, node, text):
    """A link to a folder of the repository that has no page: the site shows its name."""
    here = (root / node["refdoc"]).parent if "refdoc" in node else root
    return text if (here / node.get("reftarget", "")).is_dir() else None


def mend_furo(app, error):
    """Debian 12's furo was not bundled: its script imports a module although browsers load it as none, its styles
    import a file by a path of Debian's web server, and the dark ones are missing where the system says what is dark."""
    if error:
        return
    static = pathlib.Path(app.outdir, "_static")
    script = static / "scripts" / "furo.js"
    parts = script.read_text().split('import Gumshoe from "./gumshoe-patched.js";\n')
    if len(parts) == 2:
        script.write_text((static / "scripts" / "gumshoe-patched.js").read_text() + parts[1])
    styles = static / "styles" / "furo.css"
    text = styles.read_text()
    wanted = "@import url(/javascript/normalize.css/normalize.css);"
    if wanted in text:
        text = text.replace(wanted, pathlib.Path("/usr/share/javascript/normalize.css/normalize.css").read_text())
    dark = re.search(r'body\[data-theme="dark"\] \{(\s+--color-problematic.*?)\}', text, re.S)
    if dark and "prefers-color-scheme" not in text:
        text += '\n@media not print { @media (prefers-color-scheme: dark) { body:not([data-theme="light"]) {'
        text += dark[1] + "} } }\n"
    styles.write_text(text)


def say_limits(app, what, name, obj, options, lines):
    """Adds what a primitive requires and refuses behind what it does: the row in the compiler's table has more than
    the docstring."""
    from hone import _te

    for row in _te.primitives():
        if name == f"hone.te.Schedule.{row['name']}":
            lines += ["", *row["limits"].splitlines(), ""]


def setup(app):
    app.connect("autodoc-process-docstring", say_limits)
    app.connect("missing-reference", folder_as_text)
    app.connect("build-finished", mend_furo)
