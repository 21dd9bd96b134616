"""The log of scenarios, LOG_DIR/scenario_executor.log, which is rotated (S000-63)."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from io import SEEK_END, TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Final

from bot.monitoring.logging_setup import TextLines, prepare_record
from bot.plugins.wiring import Lifetime
from engines.scenarios.core.executor_log import LOGGER

NAME: Final = "scenario_executor.log"
MOST_BYTES: Final = 5_000_000
KEPT: Final = 5
"""Older files beside it: NAME.1 is the newest of them."""
log = logging.getLogger(__name__)


class RotatedLines(RotatingFileHandler):
    """Formats each line once, where the library does so a second time to measure it."""

    def _open(self) -> TextIOWrapper:
        opened = super()._open()
        self._size = opened.seek(0, SEEK_END)
        return opened

    def emit(self, record: logging.LogRecord) -> None:
        """Never fails: logging reports its own errors."""
        try:
            line = self.format(record) + self.terminator
            length = len(line.encode(errors="replace"))
            if 0 < self.maxBytes < self._size + length and self._size:
                self.doRollover()
            if self.stream is None:  # the rotation failed
                self.stream = self._open()
            self.stream.write(line)
            self.stream.flush()
            self._size += length
        except Exception:  # noqa: BLE001 - what a log does with any error of its own
            self.handleError(record)


@contextmanager
def keep_scenario_log(folder: Path, level: str) -> Iterator[None]:
    """Write to the file, and not to the program's log, as long as the context lasts.

    If the file cannot be opened, the program's log is used.
    """
    logger = logging.getLogger(LOGGER)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handler = RotatedLines(folder / NAME, maxBytes=MOST_BYTES, backupCount=KEPT, encoding="utf-8")
    except OSError as error:
        log.warning("%s cannot be written: %s", folder / NAME, error.strerror, extra={"action": "scenario_log_failed"})
        yield
        return
    handler.setFormatter(TextLines())
    handler.addFilter(prepare_record)
    logger.addHandler(handler)
    logger.setLevel(level)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.propagate = True
        logger.setLevel(logging.NOTSET)
        handler.close()


LIFETIME: Final = Lifetime(open=keep_scenario_log)
