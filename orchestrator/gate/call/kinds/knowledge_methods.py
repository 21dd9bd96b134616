from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, Literal

from pydantic import Field, StrictBool, StrictStr

from orchestrator.domain.own_reads import DAY, DOCUMENTS, HELP, HISTORY, REPORT
from orchestrator.gate.call.kinds.file_methods import KindParams
from orchestrator.gate.call.kinds.method import KindMethod, build_kind_method
from orchestrator.language.text import Locale

KIND: Final = "knowledge"
PERSON, ZONE, LOCALE, ROLE, SEES = "person", "zone", "locale", "role", "sees"
"""For whom an answer is written: always the requester, whatever was proposed."""
RECORD: Final = "record"
QUESTION: Final = "question"
RECORDS: Final = ("deal", "lead", "contact", "company", "task")


class MethodQuestion(KindParams):
    method: StrictStr = Field(min_length=1, max_length=100)


class HistoryQuestion(KindParams):
    """`texts` asks for long texts too, which make the turn less trusted."""

    record: StrictStr = Field(min_length=3, max_length=60)
    texts: StrictBool = False
    person: StrictStr = ""
    zone: StrictStr = "UTC"
    locale: Locale = "ru"


class DocumentQuestion(KindParams):
    question: StrictStr = Field(min_length=1, max_length=500)
    person: StrictStr = ""
    role: StrictStr = ""


class ReportQuestion(KindParams):
    """`question` is checked by the room that answers it; `sees` names the people whose records count."""

    question: dict[str, Any]
    person: StrictStr = ""
    zone: StrictStr = "UTC"
    locale: Locale = "ru"
    sees: Literal["all"] | list[int] = Field(default_factory=list)


class DayQuestion(KindParams):
    person: StrictStr = ""


_HISTORY: Final = build_kind_method(HISTORY, "R", "list", HistoryQuestion)
METHODS: Final[Mapping[str, KindMethod]] = {
    HELP: build_kind_method(HELP, "R", "get", MethodQuestion),
    HISTORY: replace(_HISTORY, spec=_HISTORY.spec.model_copy(update={"owner": "record"})),
    DOCUMENTS: build_kind_method(DOCUMENTS, "R", "get", DocumentQuestion),
    DAY: build_kind_method(DAY, "R", "get", DayQuestion),
    REPORT: build_kind_method(REPORT, "R", "get", ReportQuestion),
}
