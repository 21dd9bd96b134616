"""An upgrade that kills itself while the journal of an older database is looked through: for the test of kill -9. Argument: the database."""

import logging
import os
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[4]))

from state.sql import open_store, record_index


class _Killing(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        if "looked through" in record.getMessage():
            os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, handlers=[_Killing()])
    record_index.SLICE = record_index.TELL_EVERY = 10  # type: ignore[misc]
    open_store(sys.argv[1]).close()
