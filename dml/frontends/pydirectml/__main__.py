"""python -m dml.frontends.pydirectml script.py [arguments]: run a script that imports pydirectml."""

import runpy
import sys
from pathlib import Path

from dml.frontends import pydirectml


def main(arguments: list[str]) -> None:
    """Run the script as Python would, with this package as its ``pydirectml``."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__, file=sys.stderr)
        raise SystemExit(0 if arguments else 2)
    script = Path(arguments[0])
    if not script.is_file():
        print(f"{script}: no such script", file=sys.stderr)
        raise SystemExit(2)
    sys.modules["pydirectml"] = pydirectml
    sys.argv = arguments
    sys.path[0] = str(script.resolve().parent)
    runpy.run_path(str(script), run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])
