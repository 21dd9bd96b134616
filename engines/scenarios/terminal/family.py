"""Files of scenarios: one starts those beside it by the names of their files."""

from collections.abc import Collection, Iterator, Mapping
from typing import Final

from bot.cli.author.faces import Family
from engines.scenarios.core.checks import SENTENCES
from engines.scenarios.core.kind import KIND
from engines.scenarios.core.plan import ACTION, ACTION_TYPE
from orchestrator.documents.document import Document
from orchestrator.documents.findings import MOST, Findings
from orchestrator.documents.reports import quote_part
from orchestrator.domain.finding import Finding
from orchestrator.domain.suggestions import suggest_name

_NAMED: Final[Mapping[str, str]] = {"execute_sub_scenario": "sub_scenario_id", "schedule_scenario_run": "scenario_id"}
_CODE: Final = "finding-scenario-elsewhere"


def find_unknown_uses(document: Document, known: Collection[str]) -> Iterator[Finding]:
    findings = Findings(document)
    reported: list[str] = []
    steps = document.data.get("steps") if isinstance(document.data, Mapping) else None
    for index, step in enumerate(steps if isinstance(steps, list) else ()):
        params = step.get("params") if isinstance(step, Mapping) else None
        if not isinstance(params, Mapping):
            continue
        kind = params.get(ACTION_TYPE) if step.get("type") == ACTION else step.get("type")
        field = _NAMED.get(kind) if isinstance(kind, str) else None
        started_key = params.get(field) if field is not None else None
        if field is not None and isinstance(started_key, str) and started_key and "{" not in started_key and started_key not in known:
            args = {"name": quote_part(started_key)}
            place = ("steps", index, "params", field)
            hint = suggest_name(started_key, known)
            if len(reported) == MOST:
                break
            reported.append(started_key)
            findings.add(_CODE, SENTENCES[_CODE].format(**args), place, severity="warning", suggestion=hint, args=dict(args))
    yield from findings.list_all()


FAMILY: Final = Family(whole=KIND, find_unknown=find_unknown_uses)
