"""Judges the form of a call without making it, by the gate's own checks.

Without a portal, or its answer, what every portal has stands in its place.
"""

import asyncio
import math
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Final, TypeVar

from bitrix.catalogue.catalogue import Catalogue, Method
from bitrix.errors import BitrixError, Refused
from orchestrator.definitions.calls import LATER, CallMistake
from orchestrator.directory.reference import Reference
from orchestrator.directory.reference_data import Field
from orchestrator.directory.standard_fields import list_standard_fields
from orchestrator.domain.actor import Actor
from orchestrator.domain.address import REHEARSAL_PERSON
from orchestrator.domain.effect import Effect
from orchestrator.domain.finding import Path, Severity
from orchestrator.domain.suggestions import suggest_name
from orchestrator.gate.call.effect import Call, Facts, Refuse
from orchestrator.gate.call.params import Refusal
from orchestrator.gate.call.targets import find_definition, find_entity_name, get_at_path
from orchestrator.gate.decide.field_checks import find_field_problem, find_list_name
from orchestrator.gate.decide.value_checks import find_value_problem
from orchestrator.gate.decide.value_kinds import Place, find_list_key, find_title, format_plainly, list_written_values
from orchestrator.gate.normalize.batch import unpack_commands
from orchestrator.gate.normalize.normalize import NormalizeContext, build_call, find_method, normalize
from orchestrator.language.lexicon import load_lexicon
from orchestrator.rehearsals.call_lists import (
    STAGED,
    Lists,
    ask_lists,
    drop_funnel,
    is_own_field,
    is_own_value,
    list_standard,
    load_entries,
    load_stages,
)
from orchestrator.rehearsals.call_names import (
    ALIKE,
    check_condition,
    check_directions,
    check_names,
    check_number,
    find_fields_of,
    list_conditions,
    list_names,
)
from orchestrator.rehearsals.call_sketch import (
    MISSING,
    Sketch,
    has_open,
    is_open,
    list_leaves,
    open_fields,
    open_references,
    read_name,
    take_out,
)
from state.stored import JsonObject

_ANYBODY: Final = Actor(key=REHEARSAL_PERSON, name="Test", role="admin", sees="all", bitrix_user_id=1, locale="en")
"""Somebody with all rights, so that only the form is judged."""
PATIENCE: Final = 4.0
"""Seconds that the portal has in all within `_SPAN`."""
_SPAN: Final = 30.0
_SLOT: Final = "form/1/1"
_MOST: Final = 30
_MEANT: Final = re.compile(r" Did you mean ([\w.]+)")
_FIELD: Final = "finding-call-field"
_LACKS: Final = "finding-call-lacks"
_OPTIONS: Final = "params"
"""Options of a CRM write, whose names are known."""
_FIXED: Final = frozenset({"code", "contacts", "rows"})
"""Kinds of values that are the same on every portal."""
_KINDS: Final = load_lexicon("value_kinds")
_CONTACT_TYPES: Final = {kind: _KINDS.read_names("contact_types", kind) for kind in _KINDS.read_names("contact_types")}
_CODES: Final = {
    "gate-param-unknown": _FIELD,
    "gate-filter-field": _FIELD,
    "gate-param-missing": _LACKS,
    "gate-responsible": _LACKS,
    "gate-value-stage": "finding-call-choice",
    "gate-value-choice": "finding-call-choice",
    "gate-value-word": "finding-call-choice",
}
"""Told in words of their own; every other finding quotes the gate."""
_STAGES: Final = frozenset({"stageid", "statusid"})
T = TypeVar("T")
_SILENT: Final = CallMistake(code="finding-portal-silent", severity="warning", is_of_document=True)
_OF_NAME: Final = frozenset({"gate-param-unknown", "gate-filter-field", "gate-param-reserved", "gate-param-twice", "gate-origin"})
_OF_RECORD: Final = "gate-move-funnel"
"""Of a value that the record may have already, which only a run reads."""
_LEFT_EMPTY: Final = MISSING | {"gate-value-empty"}
_SHOWN: Final = 40
"""Characters of a value looked for in a sentence that may cut it."""
_LISTED: Final = frozenset({"gate-value-stage", "gate-value-choice", "gate-value-word"})
FindReference = Callable[[], Reference | None]


def find_no_portal() -> Reference | None:
    return None


class _PortalSilent(Exception):
    """There is a portal that does not answer."""


@dataclass(frozen=True, kw_only=True)
class _Problem:
    verdict: Refuse
    lists: Lists
    call: Call | None = None


class CallForms:
    def __init__(self, find_catalogue: Callable[[], Catalogue], find_reference: FindReference = find_no_portal) -> None:
        """Each is looked for when it is needed."""
        self._find_catalogue, self.find_reference = find_catalogue, find_reference
        self._left, self._until = 0.0, -math.inf

    async def check(self, method: str, params: JsonObject) -> Sequence[CallMistake]:
        if LATER in method or not method:  # that nothing stands there is told of as of every field
            return ()
        try:
            spec = find_method(method, self._find_catalogue())
        except Refusal as refusal:
            return (_describe_method(refusal.verdict, method),)
        if spec.name == "batch":
            return await self._check_batch(spec, params)
        return await self._find_mistakes(spec, params)

    async def find_refusal(self, kind: str, method: str, params: JsonObject) -> str:
        """ "" if the gate would take it."""
        if kind == "bitrix":
            wrong = [mistake for mistake in await self.check(method, params) if mistake.severity == "error"]
            return next((mistake.detail for mistake in wrong if mistake.detail), "")
        if has_open(params):
            return ""
        effect = Effect.model_validate({"kind": kind, "method": method, "params": dict(params), "slot": _SLOT})
        call = normalize(effect, catalogue=self._find_catalogue(), portal="", actor=_ANYBODY, effect_id=_SLOT)
        return call.detail if isinstance(call, Refuse) and call.is_form else ""

    async def _check_batch(self, spec: Method, params: JsonObject) -> Sequence[CallMistake]:
        known = {name: spec.param_names.get(name.lower()) or suggest_name(name, spec.param_names) for name in params if LATER not in name}
        mistakes = [
            CallMistake(
                code=_FIELD, args={"method": spec.name, "name": name}, path=(name,), suggestion=meant, detail=f"no parameter {name}"
            )
            for name, meant in known.items()
            if name.lower() not in spec.param_names
        ]
        name = next((one for one, meant in known.items() if meant == "cmd"), None)
        if name is None and not mistakes and not has_open(params):
            return (CallMistake(code=_LACKS, args={"method": spec.name, "name": "cmd"}, detail="no parameter cmd"),)
        if name is None or is_open(params[name]):
            return mistakes
        for key, text in _list_commands(params[name]):
            mistakes.extend(replace(mistake, path=(name, *key), of_value=True) for mistake in await self._check_command(spec, key, text))
        if mistakes or has_open(params):
            return mistakes
        whole = self._normalize(spec, dict(params))
        return (_quote(whole, spec.name, (name,)),) if isinstance(whole, Refuse) else ()

    async def _check_command(self, spec: Method, key: Path, text: object) -> Sequence[CallMistake]:
        """Places are in the command's own parameters."""
        try:
            (command,) = unpack_commands({key[0]: text} if key else text)
        except Refusal as refusal:
            return (_quote(refusal.verdict, spec.name, ()),)
        return await self.check(command.method, {name: open_references(one) for name, one in command.params.items()})

    async def _find_mistakes(self, spec: Method, params: JsonObject) -> Sequence[CallMistake]:
        draft, is_partial = open_fields(spec, params)
        sketch = Sketch(spec=spec, entity=find_entity_name(spec, draft, self._find_catalogue()), draft=draft)
        mistakes: list[CallMistake] = []
        for _ in range(_MOST):
            lists, problem = await self._find_problem(spec, draft)
            if lists.is_silent and _SILENT not in mistakes:
                mistakes.append(_SILENT)
            if problem is None:
                break
            code = problem.verdict.reason.code
            place = sketch.find_place(problem.verdict)
            misspelt = self._find_misspelt(sketch, problem.verdict) if place is None else None
            is_name = misspelt is not None or (code in _OF_NAME and (place or ("",))[0] != _OPTIONS)
            if place and not is_name:
                place = await self._narrow(sketch, place, problem)
                if has_open(sketch.get(place)) or code == _OF_RECORD:  # of what is not known nothing can be said
                    sketch.drop(place)
                    is_partial = True
                    continue
            mistake = misspelt or _describe(problem, sketch, place)
            place = misspelt.path if misspelt is not None else place
            if mistake is not None and not (is_partial and mistake.code == _LACKS):
                mistakes.append(replace(mistake, path=sketch.find_written(params, mistake.path or ())))
            suggestion = mistake.suggestion if mistake is not None else ""
            is_partial |= is_name and not suggestion  # the name that is missing may be meant
            if not sketch.mend(place, problem.verdict, suggestion if is_name else None):
                break
        places = {one.path for one in mistakes}
        unlooked = await self._find_unlooked(sketch, params)
        return [*mistakes, *[one for one in unlooked if one.is_of_document or one.path not in places]]

    async def _find_unlooked(self, sketch: Sketch, params: JsonObject) -> Sequence[CallMistake]:
        """Judge names and values that the gate lets through."""
        fields = find_fields_of(sketch.spec, sketch.entity)
        names, conditions = list(list_names(sketch.spec, params, fields)), list(list_conditions(params)) if fields else []
        is_silent, is_asked = False, fields not in ALIKE and bool(conditions or any(one.fields == fields for one in names))
        try:
            known = await self._ask(lambda portal: portal.load_fields(fields)) if is_asked else None
            choices = [await self._load_choices(sketch, one.name, known or {}) for one in conditions]
        except _PortalSilent:
            known, choices, is_silent = None, [], True
        mistakes = [*check_number(sketch, params), *check_names(sketch, names, known), *check_directions(sketch, params)]
        wrong = [check_condition(one, values) for one, values in zip(conditions, choices, strict=False)]
        return [*([_SILENT] if is_silent else []), *mistakes, *(one for one in wrong if one is not None)]

    async def _load_choices(self, sketch: Sketch, name: str, known: Mapping[str, Field]) -> Mapping[str, str]:
        """Value → name; none without a list."""
        field = next((field for code, field in known.items() if sketch.fold(code) == sketch.fold(name)), None)
        if field is None:
            return {}
        if sketch.entity in STAGED and sketch.fold(name) in _STAGES:
            return await self._ask(partial(load_stages, sketch.entity)) or {}
        book = field.status_entity_id
        return (await self._ask(partial(load_entries, book)) or {}) if book else field.choices

    def _find_misspelt(self, sketch: Sketch, verdict: Refuse) -> CallMistake | None:
        """None if no name is near the missing one."""
        *above, missing = read_name(verdict).split(".")
        holder = get_at_path(sketch.draft, ".".join(above)) if above else None
        if verdict.reason.code not in MISSING or not isinstance(holder, Mapping):
            return None
        entity = find_definition(sketch.entity, self._find_catalogue())
        known = [*(one.rpartition(".")[2] for one in sketch.spec.required), *list_standard_fields(sketch.entity)]
        keys = {sketch.fold(name) for name in (*known, *(entity.fields if entity is not None else ()))}
        odd = [name for name in holder if sketch.fold(name) not in keys and not is_own_field(name, sketch.entity)]
        misspelt = suggest_name(missing, odd)
        if not misspelt:
            return None
        args = {"method": sketch.spec.name, "name": ".".join([*above, misspelt])}
        return CallMistake(code=_FIELD, args=args, path=(*above, misspelt), suggestion=missing, detail=verdict.detail)

    async def _narrow(self, sketch: Sketch, place: Path, problem: _Problem) -> Path:
        """Return the part without which it is not refused so, or the place itself."""
        whole = place[: next((at for at, part in enumerate(place) if isinstance(part, int)), len(place))]
        leaves = list(islice(list_leaves(sketch.get(whole), whole), _MOST))
        detail = problem.verdict.detail
        if len(leaves) > 1 and format_plainly(sketch.get(whole))[:_SHOWN] in detail:  # it is refused as a whole
            return place
        for leaf in leaves:
            trial = deepcopy(sketch.draft)
            take_out(trial, leaf)
            _, other = await self._find_problem(sketch.spec, trial)
            if other is None or (other.verdict.detail != detail and other.verdict.reason.code not in _LEFT_EMPTY):
                return leaf
        return place

    async def _find_problem(self, spec: Method, draft: JsonObject) -> tuple[Lists, _Problem | None]:
        call = self._normalize(spec, draft)
        if isinstance(call, Refuse):
            lists = Lists(facts=Facts(), stages={}, is_offline=True)
            return lists, _Problem(verdict=call, lists=lists)
        lists = await self._load_lists(call)
        effect = Effect(method=spec.name, params=draft, slot=_SLOT)
        verdict = (
            find_field_problem(call, facts=lists.facts, actor=_ANYBODY)
            or find_value_problem(call, facts=lists.facts, actor=_ANYBODY, effect=effect)
            or _find_stage_problem(call, lists)
        )
        return lists, _Problem(verdict=verdict, lists=lists, call=call) if verdict is not None else None

    def _normalize(self, spec: Method, draft: JsonObject) -> Call | Refuse:
        catalogue = self._find_catalogue()
        if not has_open(draft):
            effect = Effect(method=spec.name, params=draft, slot=_SLOT)
            return normalize(effect, catalogue=catalogue, portal="", actor=_ANYBODY, effect_id=_SLOT)
        bench = NormalizeContext(catalogue=catalogue, portal="", actor=_ANYBODY, effect_id=_SLOT)
        try:
            return build_call(spec, draft, bench, origin=_SLOT)
        except Refusal as refusal:
            return refusal.verdict

    async def _load_lists(self, call: Call) -> Lists:
        if self.find_reference() is None or not (find_list_name(call) or list_written_values(call, Facts())):
            return list_standard(call)
        try:
            return await self._ask(partial(ask_lists, call)) or list_standard(call)
        except _PortalSilent:
            return replace(list_standard(call), is_silent=True)

    async def _ask(self, ask: Callable[[Reference], Awaitable[T]]) -> T | None:
        """None without a portal or if it refuses. Raises _PortalSilent."""
        reference = self.find_reference()
        if reference is None:
            return None
        clock = asyncio.get_running_loop().time
        began = clock()
        if began > self._until:
            self._left, self._until = PATIENCE, began + _SPAN
        try:
            async with asyncio.timeout(max(self._left, 0)):
                return await ask(reference)
        except Refused:
            return None
        except (TimeoutError, BitrixError):
            raise _PortalSilent from None
        finally:
            self._left -= clock() - began


def _find_stage_problem(call: Call, lists: Lists) -> Refuse | None:
    for value in list_written_values(call, lists.facts) if lists.stages else ():
        if value.kind != "stage" or find_list_key(call, value, lists.facts) in lists.facts.value_lists:
            continue
        title = find_title(value.param, value.field, _ANYBODY.locale)
        place = Place(call=call, value=value, facts=lists.facts, title=title, locale=_ANYBODY.locale)
        for item in value.items:
            if str(item).strip() not in lists.stages:
                return place.refuse_unlisted("gate-value-stage", item, lists.stages)
    return None


def _describe(problem: _Problem, sketch: Sketch, place: Path | None) -> CallMistake | None:
    """None for what no portal is there to ask about."""
    verdict = problem.verdict
    code, name = verdict.reason.code, read_name(verdict)
    field = str(place[-1]) if place and isinstance(place[-1], str) else name.rpartition(".")[2]
    mistake = CallMistake(
        code=_CODES.get(code, "finding-call-wrong"),
        args={"method": sketch.spec.name, "name": name, "problem": verdict.detail},
        path=place or sketch.find_holder(verdict),
        of_value=bool(place) and code not in _OF_NAME,
        suggestion=_read_meant(verdict),
        detail=verdict.detail,
    )
    is_unlooked = code in {"gate-param-unknown", "gate-filter-field"} and problem.lists.is_offline
    if is_unlooked and problem.call is not None and is_own_field(field, find_list_name(problem.call)):
        return replace(mistake, code="finding-call-own-field", args={"name": field}, severity="warning", suggestion="")
    return _describe_choice(problem, sketch, mistake, field) if code in _LISTED and place else mistake


def _describe_choice(problem: _Problem, sketch: Sketch, mistake: CallMistake, field: str) -> CallMistake | None:
    """Without a portal it is an error only near a known value."""
    call, lists = problem.call, problem.lists
    assert call is not None and mistake.path  # noqa: S101, PT018 - values are looked at in a call only, and stand there
    parts = [sketch.fold(part) for part in mistake.path]
    value = next((one for one in list_written_values(call, lists.facts) if sketch.fold(one.name) in parts), None)
    known = lists.find_known(value, call) if value is not None else {}
    if value is not None and value.kind == "contacts":
        known = {code: code for kind, codes in _CONTACT_TYPES.items() if sketch.fold(kind) in parts for code in codes}
    text = str(sketch.get(mistake.path))
    by_name = {name: code for code, name in reversed(list(known.items()))}  # its own funnel stands first
    near = suggest_name(text, [*known, *by_name])
    meant = by_name.get(text) or near or suggest_name(drop_funnel(text), known)
    is_offline = not lists.has_stages if value is not None and value.kind == "stage" else lists.is_offline
    is_certain = value is None or value.kind in _FIXED or bool(value.field and value.field.choices) or not is_offline
    is_certain = is_certain or not text.isascii()  # a name in place of its code
    if not is_certain and (is_own_value(text) or drop_funnel(text) in known):
        return None
    severity: Severity = "error" if is_certain or (meant and not lists.is_silent) else "warning"
    return replace(mistake, args={"name": field, "value": text}, suggestion=by_name.get(meant, meant), severity=severity)


def _describe_method(verdict: Refuse, method: str) -> CallMistake:
    return CallMistake(
        code="finding-method-unknown", args={"name": method}, path=None, suggestion=_read_meant(verdict), detail=verdict.detail
    )


def _read_meant(verdict: Refuse) -> str:
    meant = _MEANT.search(verdict.detail)
    near = str(verdict.reason.args.get("near", "none")).partition(" ")[0].rstrip(",")
    return meant[1] if meant is not None else "" if near == "none" else near


def _quote(verdict: Refuse, method: str, path: Path) -> CallMistake:
    return CallMistake(code="finding-call-wrong", args={"method": method, "problem": verdict.detail}, path=path, detail=verdict.detail)


def _list_commands(cmd: object) -> Iterator[tuple[Path, object]]:
    """Yield commands with known methods, and anything else as it is."""
    pairs = cmd.items() if isinstance(cmd, Mapping) else enumerate(cmd) if isinstance(cmd, list) else None
    if not pairs:
        yield (), cmd
        return
    for key, text in pairs:
        if not is_open(key) and not is_open(str(text).partition("?")[0]):
            yield (key,), text
