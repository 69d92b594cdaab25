"""Self-contained HTML pages: a template with style, scripts and data inside, without network access.

A package with a page keeps its template, .css and .js in a folder ``assets``; this package's folder has what pages
share (colours, tables, element helpers). Data reaches the scripts as JSON, never as markup.
"""

from __future__ import annotations

import json
import math
from base64 import b64encode
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from dml.frontends.extras import missing

if TYPE_CHECKING:
    from jinja2 import Environment

_SHARED = ("base.css",), ("dom.js",)


def render(
    package: str,
    template: str,
    data: object,
    *,
    styles: Sequence[str] = (),
    scripts: Sequence[str] = (),
    context: Mapping[str, object] | None = None,
) -> str:
    """Render a page.

    package: the package whose ``assets`` hold the template, the styles and the scripts, which run in this order after
    the shared ones. data: JSON data for the scripts; numbers that are not finite become "inf", "-inf" and "nan".
    context: the template's variables, escaped when written. Raises DMLError if jinja2 is missing.
    """
    style = "\n".join([_asset(__package__, name) for name in _SHARED[0]] + [_asset(package, name) for name in styles])
    script = "\n".join([_asset(__package__, name) for name in _SHARED[1]] + [_asset(package, name) for name in scripts])
    found = _environment(package).get_template(template)
    return found.render(
        style=style,
        script=script,
        # The browser runs only these scripts and fetches nothing.
        policy=f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; base-uri 'none'",
        data=json.dumps(_finite(data), separators=(",", ":"), allow_nan=False).replace("<", "\\u003c"),
        **(context or {}),
    )


@cache
def _environment(package: str) -> Environment:
    try:
        from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
    except ImportError as error:
        raise missing("HTML pages need", "cli", error) from None
    loader = ChoiceLoader([PackageLoader(package, "assets"), PackageLoader(__package__, "assets")])
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["grouped"] = grouped
    return environment


def grouped(count: int) -> str:
    """Format a number with separated thousands: 13,211."""
    return f"{count:,}"


def _asset(package: str, name: str) -> str:
    return files(package).joinpath("assets", name).read_text("utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode('utf-8')).digest()).decode()}'"


def _finite(value: Any) -> Any:
    """Replace non-finite numbers, which JSON lacks."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return value
