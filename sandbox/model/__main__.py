"""Start the demo model (rules in place of a language model): `python -m sandbox.model --port N`."""

import sys

from sandbox.model.server import main

if __name__ == "__main__":
    sys.exit(main())
