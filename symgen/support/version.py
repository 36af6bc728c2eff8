"""The version of symgen, and when this process began to read its files (`symgen.support.cache`): the first file to be imported."""

from __future__ import annotations

import time

__version__ = "0.1.0"
STARTED = time.time()
