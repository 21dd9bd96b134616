"""A backup, restore or move that kills itself where it tells of a certain step: for the test of kill -9. Arguments: what, how that line begins, and the places."""

import os
import signal
import sys
from datetime import UTC, datetime
from pathlib import Path

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
            from state.transfer.restore import open_place, put_into_place, unpack  # noqa: PLC0415 - as above

            url, logs, file = places[0], Path(places[1]), Path(places[2])
            with open_place(url, logs) as folder, unpack(file, folder, progress) as unpacked:
                with unpacked.open() as dialect:
                    prepare_restored(dialect, unpacked.header, (), ErasureFiles(logs=unpacked.logs), by="cli:ops", clock=SystemClock())
                progress("prepared")
                put_into_place(unpacked, url, logs, progress)


if __name__ == "__main__":
    main()
