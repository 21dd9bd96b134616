"""`python -m sandbox.telegram --port N`: the fake Telegram as a process of its own."""

import argparse
import sys
from pathlib import Path

from sandbox.telegram.server import PortTakenError, run

_EXIT_PORT_TAKEN = 2


def main(arguments: list[str] | None = None) -> int:
    """Run the fake Telegram until stopped. If the port is taken, print a message and return 2."""
    parser = argparse.ArgumentParser(prog="sandbox.telegram", description="A Telegram Bot API and a chat page on loopback.")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--data", type=Path, help="folder that keeps the chats; none: forgotten at the end")
    parser.add_argument("--portal", help="address of the portal sandbox, for the CRM column")
    parser.add_argument("--audit", type=Path, help="folder of the audit log, for the audit column")
    parser.add_argument("--supervisor", help="address of the demo's supervisor, for the tour")
    given = parser.parse_args(arguments)
    try:
        run(
            given.port,
            given.data,
            portal_url=given.portal,
            audit_dir=given.audit,
            supervisor_url=given.supervisor,
        )
    except PortTakenError as taken:
        print(taken, file=sys.stderr)  # noqa: T201 - the sentence a person reads at the terminal
        return _EXIT_PORT_TAKEN
    return 0


if __name__ == "__main__":
    sys.exit(main())
