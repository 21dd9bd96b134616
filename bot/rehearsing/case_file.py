from collections.abc import Sequence

from pydantic import BaseModel

from bitrix.masking import hide_installed
from orchestrator.documents.writing import write_document


def write_cases(cases: Sequence[BaseModel], field: str = "tests") -> str:
    """Without secrets of this installation."""
    tests = [case.model_dump(mode="json", by_alias=True, exclude_defaults=True) for case in cases]
    return write_document(hide_installed({field: tests}), "yaml")
