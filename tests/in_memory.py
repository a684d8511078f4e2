"""A folder where syncing costs nothing, if there is one with room.

For what tests make by the thousand and look at no further: a vault is warned of there, since memory forgets.
"""

import shutil
from pathlib import Path

_memory = Path("/dev/shm")
IN_MEMORY = _memory if _memory.is_dir() and shutil.disk_usage(_memory).free > 1 << 30 else None
