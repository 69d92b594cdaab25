"""The `dml` command. `app` holds what all commands share; each module of `commands` defines one command and is found
automatically."""

import importlib
import pkgutil

from . import commands
from .app import app as app

for _module in pkgutil.iter_modules(commands.__path__):
    importlib.import_module(f"{commands.__name__}.{_module.name}")
