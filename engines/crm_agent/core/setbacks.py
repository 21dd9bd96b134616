"""Finds the refused steps of a turn that a later step of the same turn made good, so that the person need not read of them.

A refusal is left out only if the later step does the same to the same record, or reads what could not be read. A refusal by a person, by
the company's rules or for want of rights is never left out, and neither is that of a change that was not made in the end. Pure.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import parse_qsl

from orchestrator.directory.reference_data import to_own_kind
from orchestrator.domain.outcome import ALREADY_SO
from orchestrator.domain.outputs import Notice
from orchestrator.engines.base import PlanStep
from orchestrator.engines.crm_agent.postponed_plans import is_only_reading
from orchestrator.language.title_matching import is_match, measure_misspelling
from state.stored import JsonObject

WITHDRAWN: Final = frozenset({"denied-by-model", "gate-withdrawn"})
"""The codes of the refusals of steps that the model withdrew."""
_GIVEN_UP: Final = WITHDRAWN | ALREADY_SO | {"gate-denied-now", "gate-foreign-request", "duplicate-taken", "step-repeated"}
"""The codes after which nothing of a step is left to do: it was withdrawn or denied, nobody asked for it, or it is done already."""
_METHOD_MISTAKES: Final = frozenset({"gate-method-odd", "gate-method-unknown", "gate-kind-method"})
_NAME_MISTAKES: Final = frozenset(
    {"gate-value-user", "gate-value-stage", "gate-value-choice", "gate-value-id", "not-found", "user-not-found", "stage-not-found",
     "category-not-found", "too-many-found", "no-current", "link-unclear"}
)  # fmt: skip
"""The codes of refusals because a name fits nothing: only a step with a name like it makes them good, not one with any other."""
_MISTAKES: Final = _METHOD_MISTAKES | _NAME_MISTAKES | {
    "gate-params", "gate-param-unknown", "gate-param-missing", "gate-param-invalid", "gate-param-twice", "gate-param-reserved",
    "gate-origin", "gate-responsible", "gate-batch-broken", "gate-kind-params", "gate-reference", "gate-target-unclear",
    "gate-filter-field", "gate-filter-unclear", "gate-move-funnel", "gate-value-date", "gate-value-number", "gate-value-flag",
    "gate-value-word", "gate-value-single", "gate-value-several", "gate-value-currency", "gate-value-reminder", "gate-value-color",
    "date-in-filter", "portal-refused",
}  # fmt: skip
"""The codes of refusals of steps that were written wrongly, which the model may repair; others are decisions or have another cause."""
_READ_TROUBLE: Final = frozenset({
    "gate-not-found", "gate-unread", "portal-unreadable", "portal-not-reached", "portal-wait", "portal-unread", "portal-no-answer",
    "list-cut",
})  # fmt: skip
"""Further codes after which a later read of the same kind tells the person what this one could not."""
_NUMBERS: Final = ("id", "taskid", "ownerid", "entityid")
"""The parameters, in small letters and without «_», that name the record of a step."""
_NAMES: Final = frozenset({"title", "name", "lastname", "subject", "comment", "description", "postmessage", "message"})
"""The fields that tell one new record from another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepResult:
    """One step of the turn and what became of it; `iteration` is that of the answer which proposed it.

    `notice` is the sentence that says why it was refused, and `done_keys` are the commands of a batch that ran (None: all).
    """

    iteration: int
    entry: PlanStep
    status: str
    notice: Notice | None = None
    done_keys: frozenset[str] | None = None
    written: JsonObject = field(default_factory=dict)
    """The parameters as the model wrote them, with names in place of numbers."""

    @property
    def is_open(self) -> bool:
        """Whether the step is still to be done: it did not run, and neither was it given up nor is it done already."""
        return self.status != "ok" and (self.notice is None or self.notice.code not in _GIVEN_UP)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wish:
    """What one step, or one command of a batch, was to do: the kind of records, the record, and the values by the names of their fields."""

    method: str
    family: str
    verb: str
    reads: bool
    number: str
    values: Mapping[str, str]
    written: Mapping[str, str]
    """The values as the model wrote them, with names in place of numbers; that of the record under ""."""

    @property
    def whole(self) -> tuple[object, ...]:
        """What two wishes for exactly the same have in common."""
        return (self.family, self.verb, self.number, sorted(self.values.items()))


def find_recovered(results: Sequence[StepResult], titles: Mapping[str, str]) -> list[StepResult]:
    """Return the refused steps in `results` that later steps of the turn made good.

    `titles` maps the records that the turn has read to their titles ("deal:481" → «Ромашка»).
    """
    return [step_result for step_result in _list_refused(results) if _is_recovered(step_result, results, titles)]


def list_open_steps(results: Sequence[StepResult], titles: Mapping[str, str]) -> list[PlanStep]:
    """Return the steps that are still to be done, in their order; of a step that was proposed again only the last proposal."""
    if not [step_result for step_result in results if step_result.is_open]:
        return []
    if len(results) == 1:  # there is no other step that could have made it good or proposed it again
        return [results[0].entry]
    recovered = find_recovered(results, titles)
    keyed = [(_build_key(step_result.entry), step_result) for step_result in results]
    last = {key: step_result.iteration for key, step_result in keyed}
    return [one.entry for key, one in keyed if one.is_open and one not in recovered and one.iteration == last[key]]


def find_repeated(results: Sequence[StepResult]) -> StepResult | None:
    """Return a step of the last answer that was refused for the second time, if that answer brought nothing new; otherwise None.

    It is the same step if it has the same parameters, or if its method was refused with the same sentence.
    """
    last = max((step_result.iteration for step_result in results), default=0)
    before = [_build_key(step_result.entry) for step_result in results if step_result.iteration < last]
    fresh = [one for one in results if one.iteration == last and one.status == "ok" and _build_key(one.entry) not in before]
    if fresh:
        return None
    refused = [one for one in _list_refused(results) if one.notice is None or one.notice.code not in _GIVEN_UP]
    earlier = [step_result for step_result in refused if step_result.iteration < last]
    again = (one for one in refused if one.iteration == last and any(_is_same_refusal(one, other) for other in earlier))
    return next(again, None)


def _is_same_refusal(one: StepResult, other: StepResult) -> bool:
    if _build_key(one.entry) == _build_key(other.entry):
        return True
    return one.notice is not None and one.notice == other.notice and one.entry.method.lower() == other.entry.method.lower()


def _list_refused(results: Sequence[StepResult]) -> list[StepResult]:
    return [step_result for step_result in results if step_result.status == "refused"]


def _build_key(entry: PlanStep) -> str:
    return f"{entry.method.lower()} {sorted(_flatten(entry.params))}"


def _is_recovered(step_result: StepResult, results: Sequence[StepResult], titles: Mapping[str, str]) -> bool:
    wishes, code = _list_wishes(step_result.entry), _find_code(step_result.notice)
    # Each later step makes good one refused step of an answer at most: the others of that answer want something else.
    later = [wish for other in results if other.iteration > step_result.iteration for wish in _list_done(other)]
    for other in results[: results.index(step_result)]:
        if other.iteration == step_result.iteration and other.status == "refused":
            for wish in _match_all(_list_wishes(other.entry), later, _find_code(other.notice), titles) or ():
                later.remove(wish)
    return bool(wishes and _match_all(wishes, later, code, titles)) or _is_replaced(step_result, results, code)


def _match_all(wishes: Sequence[_Wish], later: Sequence[_Wish], code: str, titles: Mapping[str, str]) -> list[_Wish] | None:
    """Return for each wish another one of the wishes `later` that does the same; None if one of them has none."""
    left, found = list(later), []
    for wish in wishes:
        same = next((other for other in left if _is_same_wish(wish, other, code, titles)), None)
        if same is None:
            return None
        left.remove(same)
        found.append(same)
    return found


def _is_same_wish(wish: _Wish, other: _Wish, code: str, titles: Mapping[str, str]) -> bool:
    if wish.whole == other.whole:
        return True
    if wish.reads:
        return code in _MISTAKES | _READ_TROUBLE and other.reads and (wish.family == other.family or code in _METHOD_MISTAKES)
    if code not in _MISTAKES or other.reads or ((wish.family, wish.verb) != (other.family, other.verb) and code not in _METHOD_MISTAKES):
        return False
    changed = [name for name, value in wish.values.items() if other.values.get(name, value) != value]
    if code in _NAME_MISTAKES and not all(_is_like_name(wish.values[name], other.written.get(name, "")) for name in changed):
        return False
    is_same_new = wish.number or (len(changed) <= 1 and not any(name.rpartition(".")[2] in _NAMES for name in changed))
    return bool(is_same_new) and _is_same_record(wish, other, titles) and _has_all_values(wish, other)


def _is_same_record(wish: _Wish, other: _Wish, titles: Mapping[str, str]) -> bool:
    """Return whether both are about one record; a name that was not found counts as that of a record with a name or title like it."""
    if wish.number == other.number or not wish.number:
        return True
    kind = wish.number.removeprefix("@").partition(":")[0]
    return any(_is_like_name(wish.number, name) for name in (other.written.get("", ""), titles.get(f"{kind}:{other.number}", "")))


def _is_like_name(name: str, other: str) -> bool:
    """Return whether a name, or a reference such as "@user:Зоя", is a shorter or misspelt form of the name `other`."""
    query, title = (text.partition(":")[2] if text.startswith("@") else text for text in (name, other))
    return is_match(query, title) or measure_misspelling(query, title) is not None


def _has_all_values(wish: _Wish, other: _Wish) -> bool:
    """Return whether `other` writes all the fields that `wish` was to write, or in place of some of them others with the same values."""
    lost = Counter(value for name, value in wish.values.items() if name not in other.values)
    new = Counter(value for name, value in other.values.items() if name not in wish.values)
    return all(new[value] >= count for value, count in lost.items())


def _is_replaced(step_result: StepResult, results: Sequence[StepResult], code: str) -> bool:
    """Return whether the read `step_result` was the only step of its answer and the next answer read something else in its place."""
    alone = [other for other in results if other.iteration == step_result.iteration] == [step_result]
    following = [other for other in results if other.iteration == step_result.iteration + 1]
    if not alone or code not in _MISTAKES | _READ_TROUBLE or not all(wish.reads for wish in _list_wishes(step_result.entry)):
        return False
    return bool(following) and all(other.status in {"ok", "waiting"} for other in following)


def _find_code(notice: Notice | None) -> str:
    """Return the code of a refusal; for a batch, the code of the reason for which its command was refused."""
    if notice is None:
        return ""
    return str(notice.args.get("reason") or notice.code) if notice.code == "gate-batch-refused" else notice.code


def _list_done(result: StepResult) -> list[_Wish]:
    return _list_wishes(result.entry, result.done_keys, result.written) if result.status in {"ok", "waiting"} else []


def _list_wishes(entry: PlanStep, keys: frozenset[str] | None = None, written: JsonObject | None = None) -> list[_Wish]:
    """Return what the step was to do; for a batch, what each of its commands with one of `keys` was (None: all of them)."""
    if entry.method.lower() != "batch":
        return [_build_wish(entry.method, entry.params, written or entry.params)]
    cmd = next((value for name, value in entry.params.items() if name.lower() == "cmd"), None)
    given = cmd.items() if isinstance(cmd, Mapping) else enumerate(cmd) if isinstance(cmd, list) else ()
    commands = [(str(key), *str(text).strip().partition("?")[::2]) for key, text in given]
    parsed = [(method, dict(parse_qsl(query))) for key, method, query in commands if keys is None or key in keys]
    return [_build_wish(method, params, params) for method, params in parsed]


def _build_wish(method: str, params: JsonObject, written: JsonObject) -> _Wish:
    family, _, verb = method.strip().lower().rpartition(".")
    values, named = dict(_flatten(params)), dict(_flatten(written))
    kind = values.pop("entitytypeid", "") if family == "crm.item" else ""
    own = to_own_kind(f"item:{kind}") if kind else ""
    place = next((name for name in _NUMBERS if name in values), "")
    return _Wish(
        method=method.lower(),
        family=f"crm.{own}" if own else family,
        verb=verb,
        reads=is_only_reading([method]),
        number=values.pop(place) if place else "",
        values=values,
        written={**named, "": named.get(place, "")},
    )


def _flatten(value: object, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield (name, text) of every value inside of `value`; the names are in small letters and without «_», as all methods spell them."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            name = str(key).lower().replace("_", "").replace("]", "").replace("[", ".")
            yield from _flatten(item, f"{path}.{name}".lstrip(".").removeprefix("fields."))
    elif isinstance(value, list | tuple):
        for number, item in enumerate(value):
            yield from _flatten(item, f"{path}.{number}")
    else:
        yield path, str(value)
