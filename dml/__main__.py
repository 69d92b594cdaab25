"""`python -m dml`: the same commands as `dml`."""

from dml.cli import app

app()
