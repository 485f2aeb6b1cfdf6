"""Where things lie that can be made again: code objects, the compiled emulator core."""

import os
from pathlib import Path


def cache_dir():
    """Folder for things that can be made again: $FP8LAB_CACHE, else fp8lab under $XDG_CACHE_HOME or ~/.cache."""
    if os.environ.get("FP8LAB_CACHE"):
        return Path(os.environ["FP8LAB_CACHE"])
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fp8lab"
