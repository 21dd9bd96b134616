"""The steps of standing orders: names in each part are found as those of a list, a report or a step are.

Days that repeat stay words: they are read anew each time the order works.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from engines.crm_agent.core.planned_steps import Stage
from engines.crm_agent.core.report_step import build_list_step, take_names
from orchestrator.engines.crm_agent.blocks import Step
from state.stored import JsonObject

ORDER_STEPS: Final = ("order.add", "order.change", "order.remove")
_DATE: Final = "@date:"
_PLACE: Final = re.compile(r"\{[a-z]+\}")
_PARTS: Final = ("filter", "report", "propose")
_RECORDS: Final = ("deal", "lead", "task")


def list_stages(step: Step) -> list[Stage]:
    """Of the parts that it has."""
    stages: list[Stage] = [(build_rest, take_rest)]
    params = step.params
    if isinstance(params.get("filter"), Mapping):
        stages.append((build_filter, take_filter))
    if isinstance(params.get("report"), Mapping):
        stages.append((build_report, take_report))
    proposal = params.get("propose")
    if isinstance(proposal, Mapping) and isinstance(proposal.get("params"), Mapping):
        stages.append((build_proposal, take_proposal))
    return stages


def build_rest(step: Step) -> Step:
    """All but the parts that have a way of their own."""
    return replace(step, params={name: value for name, value in step.params.items() if name not in _PARTS})


def take_rest(step: Step, found: JsonObject) -> Step:
    params: dict[str, Any] = {**step.params, **found}
    for name in _RECORDS:
        if isinstance(params.get(name), str) and params[name].isdecimal():
            params[name] = int(params[name])
    return replace(step, params=params)


def build_filter(step: Step) -> Step:
    plain = _leave_out_dates(step.params["filter"])
    return build_list_step(replace(step, params={"of": step.params.get("of"), "filter": plain}))


def take_filter(step: Step, found: JsonObject) -> Step:
    return replace(step, params={**step.params, "filter": {**found["filter"], **_select_dates(step.params["filter"])}})


def build_report(step: Step) -> Step:
    return build_list_step(_read_report(step))


def take_report(step: Step, found: JsonObject) -> Step:
    named = dict(take_names(_read_report(step), found).params)
    conditions = {**named.pop("filter"), **_select_dates(step.params["report"].get("filter") or {})}
    return replace(step, params={**step.params, "report": {**named, **({"filter": conditions} if conditions else {})}})


def _read_report(step: Step) -> Step:
    report = step.params["report"]
    return replace(step, params={**report, "filter": _leave_out_dates(report.get("filter") or {})})


def build_proposal(step: Step) -> Step:
    proposal = step.params["propose"]
    return replace(step, method=str(proposal.get("method")), params=_leave_out_places(proposal["params"]))


def take_proposal(step: Step, found: JsonObject) -> Step:
    proposal = step.params["propose"]
    return replace(step, params={**step.params, "propose": {**proposal, "params": _put_back(proposal["params"], found)}})


def _is_date(value: object) -> bool:
    return isinstance(value, str) and value.startswith(_DATE)


def _select_dates(conditions: JsonObject) -> dict[str, Any]:
    return {key: value for key, value in conditions.items() if _is_date(value)}


def _leave_out_dates(conditions: JsonObject) -> dict[str, Any]:
    return {key: value for key, value in conditions.items() if not _is_date(value)}


def _is_place(value: object) -> bool:
    """{owner} and the like, which each firing fills: nobody is called so."""
    if isinstance(value, list):
        return bool(value) and all(map(_is_place, value))
    return isinstance(value, str) and _PLACE.fullmatch(value) is not None


def _leave_out_places(written: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: _leave_out_places(value) if isinstance(value, Mapping) else value for key, value in written.items() if not _is_place(value)
    }


def _put_back(written: Any, found: Any) -> Any:
    """What was found, with days and places as they were written; keys that were names may differ, their order does not."""
    if _is_date(written):
        return written
    if isinstance(written, Mapping) and isinstance(found, Mapping):
        places = {key: value for key, value in written.items() if _is_place(value)}
        named = [value for key, value in written.items() if key not in places]
        if len(named) == len(found):
            return {**places, **{key: _put_back(old, new) for old, (key, new) in zip(named, found.items(), strict=True)}}
    if isinstance(written, list) and isinstance(found, list) and len(written) == len(found):
        return [_put_back(old, new) for old, new in zip(written, found, strict=True)]
    return found
