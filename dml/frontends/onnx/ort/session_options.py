"""onnxruntime's session and run options, under their names.

Options that tune onnxruntime's own machinery (threads, arenas, optimization levels) are accepted without effect; those
that request a missing feature are refused when a session is created.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from typing import TYPE_CHECKING, NoReturn

from dml.errors import HRESULT, DMLError

from .missing_names import missing_method

#: "1": nodes that cannot be mapped are refused, instead of running on the host.
NO_FALLBACK = "session.disable_cpu_ep_fallback"


class GraphOptimizationLevel(IntEnum):
    """Accepted without effect: graphs are always fused as far as possible."""

    ORT_DISABLE_ALL = 0
    ORT_ENABLE_BASIC = 1
    ORT_ENABLE_EXTENDED = 2
    ORT_ENABLE_LAYOUT = 3
    ORT_ENABLE_ALL = 99


class ExecutionMode(Enum):
    """Accepted without effect: runs of a session are sequential."""

    ORT_SEQUENTIAL = 0
    ORT_PARALLEL = 1


class ExecutionOrder(Enum):
    """Accepted without effect: nodes run in any valid order."""

    DEFAULT = 0
    PRIORITY_BASED = 1
    MEMORY_EFFICIENT = 2


@dataclass(slots=True)
class SessionOptions:
    """Options of a session.

    enable_profiling: ``InferenceSession.end_profiling`` writes a trace; its name begins with profile_file_prefix.
    log_severity_level: 3 and 4 suppress warnings. optimized_model_filepath: refused if set. The session configuration
    ``session.disable_cpu_ep_fallback`` set to "1" refuses nodes that cannot be mapped. Everything else is accepted
    without effect.
    """

    enable_cpu_mem_arena: bool = True
    enable_mem_pattern: bool = True
    enable_mem_reuse: bool = True
    enable_profiling: bool = False
    execution_mode: ExecutionMode = ExecutionMode.ORT_SEQUENTIAL
    execution_order: ExecutionOrder = ExecutionOrder.DEFAULT
    graph_optimization_level: GraphOptimizationLevel = GraphOptimizationLevel.ORT_ENABLE_ALL
    inter_op_num_threads: int = 0
    intra_op_num_threads: int = 0
    log_severity_level: int = -1
    log_verbosity_level: int = 0
    logid: str = ""
    optimized_model_filepath: str = ""
    profile_file_prefix: str = "onnxruntime_profile_"
    use_deterministic_compute: bool = False
    use_per_session_threads: bool = True
    _entries: dict[str, str] = field(default_factory=dict)
    _sizes: dict[str, int] = field(default_factory=dict)
    _providers: list[tuple[str, dict[str, str]]] = field(default_factory=list)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            raise missing_method(self, name)

    def add_provider(self, provider_name: str, provider_options: Mapping[str, str]) -> None:
        """Add a provider for sessions that name none."""
        self._providers.append((provider_name, dict(provider_options)))

    def has_providers(self) -> bool:
        return bool(self._providers)

    @property
    def providers(self) -> list[tuple[str, dict[str, str]]] | None:
        """The providers that ``add_provider`` added; None without any."""
        return list(self._providers) or None

    def add_session_config_entry(self, key: str, value: str) -> None:
        """Store a configuration entry; only ``NO_FALLBACK`` has an effect."""
        self._entries[key] = value

    def get_session_config_entry(self, key: str) -> str:
        """Return a configuration entry. Raises DMLError if there is none."""
        if key not in self._entries:
            raise DMLError(f"SessionOptions: no configuration {key!r}")
        return self._entries[key]

    def add_free_dimension_override_by_name(self, name: str, size: int) -> None:
        """Give a symbolic size of the inputs a fixed value."""
        self._sizes[name] = size

    @property
    def fallback(self) -> bool:
        return self._entries.get(NO_FALLBACK, "0") != "1"

    @property
    def sizes(self) -> dict[str, int]:
        """Symbolic sizes with fixed values, by name."""
        return dict(self._sizes)

    def check(self) -> None:
        """Raise DMLError for options that request a missing feature."""
        if self.optimized_model_filepath:
            raise DMLError(
                "SessionOptions.optimized_model_filepath is not available; `dml run --explain` shows compiled programs",
                HRESULT.E_NOTIMPL,
            )


@dataclass(slots=True)
class RunOptions:
    """Options of a run. terminate: the run is refused. Everything else is accepted without effect."""

    log_severity_level: int = -1
    log_verbosity_level: int = 0
    logid: str = ""
    only_execute_path_to_fetches: bool = False
    terminate: bool = False
    _entries: dict[str, str] = field(default_factory=dict)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            raise missing_method(self, name)

    def add_run_config_entry(self, key: str, value: str) -> None:
        self._entries[key] = value

    def get_run_config_entry(self, key: str) -> str:
        """Return a configuration entry. Raises DMLError if there is none."""
        if key not in self._entries:
            raise DMLError(f"RunOptions: no configuration {key!r}")
        return self._entries[key]

    def check(self) -> None:
        """Raise DMLError if the run is to be terminated."""
        if self.terminate:
            raise DMLError("RunOptions: terminate is set", HRESULT.E_ABORT)
