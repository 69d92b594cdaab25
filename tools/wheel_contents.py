"""Hatchling's hook for the wheel that stands alone: it takes along the folder that ``DML_WHEEL_VENDOR`` names.

The folder becomes dml/_vendor. tools/wheel sets the variable; without it a wheel, or an editable installation, stays
free of compiled code.
"""

from __future__ import annotations

import os
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class VendoredFiles(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        vendored = os.environ.get("DML_WHEEL_VENDOR")
        if vendored:
            build_data["force_include"][vendored] = "dml/_vendor"
            build_data["pure_python"] = False
            build_data["infer_tag"] = True
