"""The process of a worker: `python -m orchestrator.workers.serving MODULE:FUNCTION LIMITS` answers orders until they end."""

import contextlib
import importlib
import json
import math
import os
import resource
import sys
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, Final

from orchestrator.workers.frames import BAD, GOOD, WorkerLimits, read_frame, write_frame

Answer = Callable[[bytes], bytes]
_MOST_FILES: Final = 64


def serve_orders(answer: Answer, limits: WorkerLimits, orders: BinaryIO, answers: BinaryIO) -> None:
    while (order := read_frame(orders)) is not None:
        _limit_order(limits)
        write_frame(answers, _answer_order(answer, order))


def _answer_order(answer: Answer, order: bytes) -> bytes:
    try:
        return GOOD + answer(order)
    except Exception as error:  # noqa: BLE001 - whatever is wrong with one order, the next may be good
        return BAD + _describe_error(error).encode()


def _describe_error(error: Exception) -> str:
    """Where it happened, and not its message, which may quote the order."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = f" at {Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}" if trace is not None else ""
    return type(error).__name__ + place


def _limit_order(limits: WorkerLimits) -> None:
    """The system ends the process if it takes more time."""
    _limit(resource.RLIMIT_AS, limits.memory)
    if limits.cpu_seconds is not None:
        used = resource.getrusage(resource.RUSAGE_SELF)
        _limit(resource.RLIMIT_CPU, math.ceil(used.ru_utime + used.ru_stime + limits.cpu_seconds))


def _limit(limit: int, soft: int) -> None:
    hard = resource.getrlimit(limit)[1]
    with contextlib.suppress(ValueError, OSError):  # a system without this limit: the deadline of the keeper is left
        resource.setrlimit(limit, (soft if hard == resource.RLIM_INFINITY else min(soft, hard), hard))


def _limit_process(limits: WorkerLimits) -> None:
    """For as long as it lives."""
    lasting = [(resource.RLIMIT_CORE, 0), (resource.RLIMIT_NOFILE, _MOST_FILES)]
    for limit, most in lasting if limits.may_write_files else [*lasting, (resource.RLIMIT_FSIZE, 0)]:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(limit, (most, most))


def main(target: str, limits_text: str) -> None:
    """Nothing else may write to the output."""
    answers = os.fdopen(os.dup(1), "wb")
    with Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), 1)
    module, _, function = target.partition(":")
    answer: Answer = getattr(importlib.import_module(module), function)
    limits = WorkerLimits(**json.loads(limits_text))
    _limit_process(limits)
    with contextlib.suppress(BrokenPipeError, KeyboardInterrupt):
        serve_orders(answer, limits, sys.stdin.buffer, answers)


if __name__ == "__main__":
    main(*sys.argv[1:])
