"""The small worlds of tests/query serve here too."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent / "query"))
