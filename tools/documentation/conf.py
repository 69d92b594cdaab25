"""Settings of Sphinx, which builds the site."""

import gc

import dml

# Sphinx keeps all pages in memory: the garbage collector would take half of the time and find little
gc.disable()

project = "dml"
author = "the dml authors"
release = dml.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc"]
# Pygments' GLSL has no strings, which GL_EXT_spirv_intrinsics adds.
suppress_warnings = ["misc.highlighting_failure"]
myst_heading_anchors = 3
myst_enable_extensions = ["deflist"]
html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_title = f"dml {release}"
html_copy_source = False
html_show_copyright = False
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
python_use_unqualified_type_names = True
