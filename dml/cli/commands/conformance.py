"""`dml conformance`: the cross-vendor suite."""

from __future__ import annotations

from ...conformance.command import app as conformance
from ..app import app

app.add_typer(conformance, name="conformance")
