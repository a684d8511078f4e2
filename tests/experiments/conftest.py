"""The experiments are not installed: they stand beside the package, in the repository."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
