"""Builds the chart of a definition by its kind, for the pages that show one."""

from collections.abc import Mapping

from bot.plugins.kind_face import KIND_FACE, NO_PARTS
from bot.plugins.loading import find_part_of_kind
from orchestrator.charts.chart import Chart


def build_definition_chart(kind: str, document: object, parts: Mapping[str, object] = NO_PARTS) -> Chart | None:
    """Return the chart of a definition, also of one with mistakes; None for a kind that has none.

    `parts` are the documents of its parts, by what is written in it.
    """
    face = find_part_of_kind(KIND_FACE, kind)
    return face.steps.draw(document, parts) if face is not None and face.steps is not None else None
