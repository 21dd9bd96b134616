"""A backup, restore or move that kills itself where it tells of a certain step: for the test of kill -9. Arguments: what, how that line begins, and the places."""

import os
import signal
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[4]))


def main() -> None:
    what, where, *places = sys.argv[1:]

    def progress(line: str) -> None:
        if line.startswith(where):
            os.kill(os.getpid(), signal.SIGKILL)

    match what:
        case "backup":
            from state.transfer.backup import create_backup  # noqa: PLC0415 - each of the three imports what it needs: there are many starts

            create_backup(places[0], Path(places[1]), Path(places[2]), now=lambda: datetime.now(UTC), program="test", progress=progress)
        case "move":
            from state.transfer.move import move_database  # noqa: PLC0415 - as above

            move_database(places[0], places[1], progress)
        case "restore":
            from orchestrator.reports.erasure.erase import ErasureFiles  # noqa: PLC0415 - as above
            from orchestrator.reports.restore import prepare_restored  # noqa: PLC0415 - as above
            from state.clock import SystemClock  # noqa: PLC0415 - as above
            from state.transfer.archive import open_archive  # noqa: PLC0415 - as above
            from state.transfer.restore import restore_backup  # noqa: PLC0415 - as above

            logs = Path(places[1])
            with open_archive(Path(places[2])) as archive:

                def settled(loading: Any) -> None:
                    progress("settling")
                    prepare_restored(loading, archive.manifest, (), ErasureFiles(logs=logs), by="cli:ops", clock=SystemClock())
                    progress("settled")

                restore_backup(archive, places[0], logs, settle=settled, progress=progress)


if __name__ == "__main__":
    main()
