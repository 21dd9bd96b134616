"""Counts in a process of its own: SQL in a thread would hold up the loop. Orders and answers are pickled, with their length in front."""

import pickle
import sys
from typing import BinaryIO

from orchestrator.analytics.orders import read_frame, run_order, write_frame


def serve_orders(orders: BinaryIO, answers: BinaryIO) -> None:
    """Until the orders end."""
    while (body := read_frame(orders)) is not None:
        order = pickle.loads(body)  # noqa: S301 - of the process that started this one
        write_frame(answers, pickle.dumps(run_order(order)))


if __name__ == "__main__":
    serve_orders(sys.stdin.buffer, sys.stdout.buffer)
