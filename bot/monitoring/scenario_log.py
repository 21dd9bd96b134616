"""Keeps the log of scenarios in a file of its own, LOG_DIR/scenario_executor.log, which is rotated (S000-63)."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Final

from bot.monitoring.logging_setup import TextLines, prepare_record
from orchestrator.engines.scenarios.executor_log import LOGGER

NAME: Final = "scenario_executor.log"
MOST_BYTES: Final = 5_000_000
KEPT: Final = 5
"""How many older files are kept beside it: NAME.1 is the newest of them."""
log = logging.getLogger(__name__)


@contextmanager
def keep_scenario_log(folder: Path, level: str) -> Iterator[None]:
    """Write what scenarios do into the file as long as the context lasts, and not into the program's own log.

    If the file cannot be opened, it stays in the program's log, and scenarios go on.
    """
    logger = logging.getLogger(LOGGER)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handler = RotatingFileHandler(folder / NAME, maxBytes=MOST_BYTES, backupCount=KEPT, encoding="utf-8")
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
