"""Start the sandbox portal (a simulated Bitrix24): `python -m sandbox.portal --port N [--data DIR]`."""

from __future__ import annotations

import sys

from sandbox.portal.server import main

if __name__ == "__main__":
    sys.exit(main())
