"""Digests of the code on which the choice of cases depends, for its entries in the cache."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import dml
from dml.compiler.kernels.sources import directory
from dml.conformance import families

#: The package's files on which the subjects' cases depend: changing one invalidates the cached cases.
DESCRIBING = (
    "*.py",
    *(f"{folder}/**/*.py" for folder in ("capability", "descriptors", "enums", "validator")),
    "capability/*.json",
    "conformance/*.py",
    "conformance/families/*.py",
)
#: The files on which coverage depends, in addition to the shaders.
COMPILING = (
    *DESCRIBING,
    *(f"{folder}/**/*.py" for folder in ("compiler", "graph", "planning", "traced")),
    "compiler/selection/*.json",
    "conformance/references/*.py",
)
_WORD = re.compile(rb"\w+")


def describing() -> str:
    """Return the digest of the code that determines the subjects' cases."""
    return _describing(tuple(families.__path__))


@cache
def _describing(folders: tuple[str, ...]) -> str:
    subjects = (digest_of_files(Path(folder), ("*.py",)) for folder in folders)  # tests put the families elsewhere
    return "".join([digest_of_files(_package(), DESCRIBING), *subjects])


@cache
def compiling() -> str:
    """Return the digest of the code that determines kernel variants, shaders included."""
    return digest_of_files(_package(), COMPILING) + digest_of_words(directory())


def digest_of_files(package: Path, patterns: Iterable[str]) -> str:
    """Return a digest of the package's files that match a pattern."""
    digest = hashlib.sha256()
    for path in sorted(files(package, patterns)):
        digest.update(f"{path.relative_to(package)}\0".encode() + path.read_bytes())
    return digest.hexdigest()


def digest_of_words(shaders: Path) -> str:
    """Return a digest of the words in each shader; the words are all that selection reads from a shader
    (``sources.identifiers``)."""
    digest = hashlib.sha256()
    for path in sorted(shaders.rglob("*")):
        if path.is_file():
            words = sorted(set(_WORD.findall(path.read_bytes())))
            digest.update(f"{path.relative_to(shaders)}\0".encode() + b" ".join(words) + b"\0")
    return digest.hexdigest()


def files(package: Path, patterns: Iterable[str]) -> set[Path]:
    """Return the package's files that match a pattern."""
    return {path for pattern in patterns for path in package.glob(pattern)}


def _package() -> Path:
    return Path(dml.__file__).parent
