"""Names of the people, stages, sources and companies that a report speaks of. What the portal does not give is left out."""

from collections.abc import Mapping, Sequence
from typing import Final

from bitrix.errors import BitrixError
from orchestrator.directory.answers import to_number
from orchestrator.directory.naming import Naming
from orchestrator.directory.reference import Reference
from orchestrator.language.text import normalize_text, to_visible_line
from state.stored import JsonObject

_BOOKS: Final[Mapping[str, str]] = {"source": "SOURCE", "type": "DEAL_TYPE"}
_FIELD: Final = "field:"
_LONGEST: Final = 80
_SIGNS: Final = "<>=!@%"


class ReportNames:
    def __init__(self, naming: Naming, reference: Reference) -> None:
        self._naming = naming
        self._reference = reference

    async def find_names(self, what: str, record: str, codes: Sequence[str]) -> Mapping[str, str]:
        """`what` is person, department, source, stage, company, funnel, type, or "field:" with the name of a list field of `record`."""
        try:
            return await self._read_names(what, record, codes)
        except BitrixError:  # the numbers are right without their names, which then are codes
            return {}

    async def _read_names(self, what: str, record: str, codes: Sequence[str]) -> Mapping[str, str]:
        naming = self._naming
        match what:
            case "person":
                return {code: await naming.find_user_name(to_number(code)) for code in codes}
            case "department":
                departments = await self._reference.load_departments()
                known = {code: departments.get(to_number(code)) for code in codes}
                return {code: to_visible_line(one.name, limit=_LONGEST) for code, one in known.items() if one is not None}
            case "source" | "type":
                return {code: await naming.find_status_name(_BOOKS[what], code) for code in codes}
            case "stage":
                return {code: await naming.find_stage_name(record, code) for code in codes}
            case "funnel":
                return {code: await naming.find_category_name(to_number(code), record) for code in codes}
            case "company":
                titles = await naming.find_titles([("company", to_number(code)) for code in codes if to_number(code)])
                return {str(number): title for (_, number), title in titles.items()}
            case _ if what.startswith(_FIELD):
                field = await naming.find_field(record, what.removeprefix(_FIELD))
                choices = field.choices if field is not None else {}
                return {code: to_visible_line(choices[code], limit=_LONGEST) for code in codes if code in choices}
            case _:
                return {}

    async def number_departments(self, question: JsonObject) -> JsonObject:
        """The question with numbers in place of the names of departments in its filter; a name that is not exactly one stays."""
        conditions = question.get("filter")
        if not isinstance(conditions, Mapping) or not any(_is_of_department(key) for key in conditions):
            return question
        try:
            departments = await self._reference.load_departments()
        except BitrixError:  # a name is then refused as no number
            return question
        names = {number: one.name for number, one in departments.items()}
        numbered = {key: _number(value, names) if _is_of_department(key) else value for key, value in conditions.items()}
        return {**question, "filter": numbered}

    async def find_field_title(self, record: str, field: str) -> str:
        return await self._naming.find_field_title(record, field)


def _is_of_department(key: str) -> bool:
    return key.strip().lstrip(_SIGNS).lower() == "department"


def _number(value: object, names: Mapping[int, str]) -> object:
    if isinstance(value, list):
        return [_number(one, names) for one in value]
    fitting = [number for number, name in names.items() if isinstance(value, str) and normalize_text(name) == normalize_text(value)]
    return fitting[0] if len(fitting) == 1 else value
