"""Builds the engine that carries out changes of many records. Part of the composition root."""

from typing import Final

from bot.plugins.wiring import Wiring
from engines.bulk_changes.core.engine import BulkEngine, describe_file
from orchestrator.runs.registry import RegisteredEngine


def build_bulk() -> RegisteredEngine:
    """Nobody starts one but an approved card: no definition of it is listed or published."""
    return RegisteredEngine(
        engine=BulkEngine(),
        describe=describe_file,
        is_listed=lambda _file: False,
        is_for_programs=lambda _file: False,
        is_background=True,
    )


WIRING: Final = Wiring(build=build_bulk)
