"""Build the site: python -m tools.documentation [folder]"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from tools.gpu_compilation import outcomes, shares
from tools.gpu_compilation import page as chips
from tools.gpu_compilation.record import recorded

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
#: Documents of the repository that are also pages of the site.
DOCUMENTS = ("ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")


def main() -> int:
    parser = argparse.ArgumentParser(prog="tools/docs", description="Build the documentation as a site.")
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "build" / "docs", help="default: build/docs")
    folder = parser.parse_args().folder.resolve()
    pages = folder / "pages"
    shutil.rmtree(pages, ignore_errors=True)
    write_pages(pages)
    options = ["-b", "html", "-W", "--keep-going", "-q", "-j", "auto", "-d", str(folder / "doctrees")]
    status = subprocess.call(
        [sys.executable, "-m", "sphinx", *options, "-c", str(HERE), str(pages), str(folder / "html")]
    )
    if status == 0:
        (folder / "html" / "chips.html").write_text(chips.html(recorded()), encoding="utf-8")
        print(folder / "html" / "index.html")
    return status


def write_pages(folder: Path) -> None:
    """Write all pages as Markdown."""
    from tools.documentation import command_line, kernels, operators, performance

    shutil.copytree(HERE / "guide", folder)
    # The site's first page is the README, followed by the list of all pages.
    index = folder / "index.md"
    readme = (ROOT / "README.md").read_text(encoding="utf-8").replace("tools/documentation/guide/", "")
    index.write_text(f"{_links(readme)}\n{index.read_text(encoding='utf-8')}", encoding="utf-8")
    measured = folder / "performance.md"
    measured.write_text(performance.page(measured.read_text(encoding="utf-8")), encoding="utf-8")
    _write(folder / "command_line.md", command_line.page())
    with (folder / "license.md").open("a", encoding="utf-8") as license_page:
        license_page.write(f"\n```text\n{(ROOT / 'LICENSE').read_text(encoding='utf-8')}```\n")
    for document in DOCUMENTS:
        text = (ROOT / document).read_text(encoding="utf-8")
        (folder / document).write_text(_links(text), encoding="utf-8")
    for name in operators.names():
        _write(folder / "operators" / f"{name}.md", operators.page(name))
    for family, names in operators.families().items():
        _write(folder / "operators" / f"{family}.md", _contents(family, names))
    _write(folder / "operators" / "index.md", _contents("Operators", operators.families()))
    with (folder / "compilers.md").open("a", encoding="utf-8") as table:
        table.write(chips.markdown(recorded()) + outcomes.markdown() + shares.markdown(recorded()))
    used_by = kernels.users()
    for family in kernels.families():
        _write(folder / "kernels" / f"{family}.md", kernels.page(family, used_by))
    _write(folder / "kernels" / "index.md", _contents("Kernels", kernels.families()))


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _contents(title: str, pages: Iterable[str]) -> str:
    listed = "\n".join(pages)
    return f"# {title}\n\n```{{toctree}}\n:maxdepth: 1\n\n{listed}\n```\n"


def _links(text: str) -> str:
    """Keep links to pages and pictures; replace other links by the files' names."""
    pages = {*DOCUMENTS, *(path.name for path in (HERE / "guide").iterdir())}
    return re.sub(
        r"\[([^\]]+)\]\(([\w./-]+)\)",
        lambda link: link[0] if link[2] in pages else f"`{link[2]}`",
        text,
    )


if __name__ == "__main__":
    sys.exit(main())
