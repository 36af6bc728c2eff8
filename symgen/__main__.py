"""`python -m symgen` is `symgen`."""

import sys

from symgen.cli import main

sys.exit(main())
