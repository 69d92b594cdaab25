"""`dml conformance`: the cross-vendor suite."""

from __future__ import annotations

from ...conformance.command import EXAMPLES as OWN
from ...conformance.command import app as conformance
from ..app import EXAMPLES, GroupWithExamples, app

EXAMPLES["conformance"] = OWN
app.add_typer(conformance, name="conformance", cls=GroupWithExamples)
