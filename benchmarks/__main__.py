"""`python -m benchmarks [NAME...]`: all benchmarks, or those named; each prints its table and writes it into README.md."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

NAMES = sorted(
    path.stem for path in Path(__file__).parent.glob("*.py") if path.stem not in ("__main__", "__init__", "tables", "server_client")
)


def main(wanted: list[str]) -> int:
    unknown = set(wanted) - set(NAMES)
    if unknown:
        print(f"no benchmark {', '.join(sorted(unknown))}; there are: {', '.join(NAMES)}", file=sys.stderr)
        return 2
    for name in wanted or NAMES:
        print(f"== {name}", file=sys.stderr)
        import_module(f"benchmarks.{name}").run()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
