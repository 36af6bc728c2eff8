"""The version of symgen, and the start time of this process for `symgen.support.cache`. This file
is imported first.
"""

from __future__ import annotations

import time

__version__ = "0.2.0"
STARTED = time.time()
