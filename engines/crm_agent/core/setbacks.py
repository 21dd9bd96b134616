"""Finds the refused steps that a later step of the turn made good, or of which the answer tells, so that the person need not read of them.

Pure.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import parse_qsl

from orchestrator.directory.reference_data import to_own_kind
from orchestrator.domain.effect import ALREADY_SO
from orchestrator.domain.outputs import Notice
from orchestrator.domain.own_reads import HELP
from orchestrator.domain.undo_request import UNDO_STEPS
from orchestrator.engines.base import PlanStep
from orchestrator.engines.crm_agent.postponed_plans import is_only_reading
from orchestrator.language.denials import says_none, says_unable
from orchestrator.language.title_matching import is_match, measure_misspelling
from state.stored import JsonObject

WITHDRAWN: Final = frozenset({"denied-by-model", "gate-withdrawn"})
ALONE: Final = "change-alone"
"""A step is not changed without those behind it on its card."""
_GIVEN_UP: Final = (
    WITHDRAWN | ALREADY_SO | {ALONE, "card-not-waiting", "gate-denied-now", "gate-foreign-request", "duplicate-taken", "step-repeated"}
)
"""Nothing of the step is left to do."""
_NO_METHOD: Final = "portal-error-method"
_METHOD_MISTAKES: Final = frozenset({"gate-method-odd", "gate-method-unknown", "gate-kind-method", _NO_METHOD})
_NAME_MISTAKES: Final = frozenset(
    {"gate-value-user", "gate-value-stage", "gate-value-choice", "gate-value-id", "not-found", "user-not-found", "stage-not-found",
     "category-not-found", "too-many-found", "no-current", "link-unclear"}
)  # fmt: skip
"""A name fits nothing: only a step with a name like it makes that good."""
_MISTAKES: Final = _METHOD_MISTAKES | _NAME_MISTAKES | {
    "gate-params", "gate-param-unknown", "gate-param-missing", "gate-param-invalid", "gate-param-twice", "gate-param-reserved",
    "gate-origin", "gate-responsible", "gate-batch-broken", "gate-kind-params", "gate-reference", "gate-target-unclear",
    "gate-filter-field", "gate-filter-unclear", "gate-move-funnel", "gate-value-date", "gate-value-number", "gate-value-flag",
    "gate-value-word", "gate-value-single", "gate-value-several", "gate-value-currency", "gate-value-reminder", "gate-value-color",
    "date-in-filter", "portal-refused", "portal-error-missing", "list-group-unclear", "list-limit-unclear", "no-next-page",
    "step-held", "gate-row-discount", "gate-row-price",
}  # fmt: skip
"""Wrongly written steps, which the model may repair."""
_READ_TROUBLE: Final = frozenset({
    "gate-not-found", "gate-unread", "portal-unreadable", "portal-not-reached", "portal-wait", "portal-unread", "portal-no-answer",
    "list-cut", "batch-failed", "report-trouble", "report-again-unclear", "",
})  # fmt: skip
_TOLD: Final[Mapping[str, Callable[[str], bool]]] = dict.fromkeys(
    ("gate-not-found", "not-found", "user-not-found", "portal-error-missing"), says_none
) | dict.fromkeys(_METHOD_MISTAKES, says_unable)
"""Refusals of reads by the sentences that tell the same."""
_NUMBERS: Final = ("id", "taskid", "ownerid", "entityid")
_NAMES: Final = frozenset({"title", "name", "lastname", "subject", "comment", "description", "postmessage", "message"})


@dataclass(frozen=True, slots=True, kw_only=True)
class StepResult:
    """One step and its result; `iteration` is that of its answer, `done_keys` the commands of a batch that ran (None: all)."""

    iteration: int
    entry: PlanStep
    status: str
    notice: Notice | None = None
    done_keys: frozenset[str] | None = None
    written: JsonObject = field(default_factory=dict)
    """With names in place of numbers."""

    @property
    def is_open(self) -> bool:
        code = self.notice.code if self.notice is not None else ""
        if self.status == "ok" or code in _GIVEN_UP or self.entry.method in UNDO_STEPS:
            return False
        # A wrongly written read is no plan to go on with; one that the portal refused may succeed later.
        return not (code in _MISTAKES - {"portal-refused"} and is_only_reading([self.entry.method]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the model told the person, having seen the first `seen` iterations."""

    text: str = ""
    seen: int = 0


NO_ANSWER: Final = Answer()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wish:
    """What one step, or one command of a batch, was to do."""

    method: str
    family: str
    verb: str
    reads: bool
    number: str
    values: Mapping[str, str]
    written: Mapping[str, str]
    """With names in place of numbers; that of the record under ""."""

    @property
    def whole(self) -> tuple[object, ...]:
        return (self.family, self.verb, self.number, sorted(self.values.items()))


def find_recovered(results: Sequence[StepResult], titles: Mapping[str, str], answer: Answer = NO_ANSWER) -> list[StepResult]:
    """`titles` are by record: "deal:481": «Ромашка»."""
    return [
        step_result
        for step_result in _list_refused(results)
        if _is_help(step_result) or _is_told(step_result, answer) or _is_recovered(step_result, results, titles)
    ]


def list_open_steps(results: Sequence[StepResult], titles: Mapping[str, str], answer: Answer = NO_ANSWER) -> list[PlanStep]:
    """In order; of a step that was proposed again only the last proposal."""
    if not [step_result for step_result in results if step_result.is_open]:
        return []
    recovered = find_recovered(results, titles, answer)
    keyed = [(_build_key(step_result.entry), step_result) for step_result in results]
    last = {key: step_result.iteration for key, step_result in keyed}
    return [one.entry for key, one in keyed if one.is_open and one not in recovered and one.iteration == last[key]]


def find_repeated(results: Sequence[StepResult]) -> StepResult | None:
    """A step refused for the second time, if the last answer brought nothing new."""
    last = max((step_result.iteration for step_result in results), default=0)
    before = [_build_key(step_result.entry) for step_result in results if step_result.iteration < last]
    fresh = [one for one in results if one.iteration == last and one.status == "ok" and _build_key(one.entry) not in before]
    if fresh:
        return None
    refused = [one for one in _list_refused(results) if one.notice is None or one.notice.code not in _GIVEN_UP]
    earlier = [step_result for step_result in refused if step_result.iteration < last]
    again = (one for one in refused if one.iteration == last and any(_is_same_refusal(one, other) for other in earlier))
    return next(again, None)


def _is_same_refusal(step_result: StepResult, other: StepResult) -> bool:
    if _build_key(step_result.entry) == _build_key(other.entry):
        return True
    return (
        step_result.notice is not None
        and step_result.notice == other.notice
        and step_result.entry.method.lower() == other.entry.method.lower()
    )


def _list_refused(results: Sequence[StepResult]) -> list[StepResult]:
    return [step_result for step_result in results if step_result.status == "refused"]


def _build_key(entry: PlanStep) -> str:
    return f"{entry.method.lower()} {sorted(_flatten(entry.params))}"


def _is_help(step_result: StepResult) -> bool:
    """Nobody asked for it."""
    return step_result.entry.method.lower() == HELP


def _is_told(step_result: StepResult, answer: Answer) -> bool:
    """The answer says of a read that there is no such thing."""
    wishes, says_so = _list_wishes(step_result.entry), _TOLD.get(_find_code(step_result.notice))
    is_seen = says_so is not None and step_result.iteration <= answer.seen
    return is_seen and bool(wishes) and all(wish.reads for wish in wishes) and says_so is not None and says_so(answer.text)


def _is_recovered(step_result: StepResult, results: Sequence[StepResult], titles: Mapping[str, str]) -> bool:
    wishes, code = _list_wishes(step_result.entry), _find_code(step_result.notice)
    if code == ALONE:  # what is proposed anew is another call
        return any(other.iteration > step_result.iteration and other.status in {"ok", "waiting"} for other in results)
    # Each later step makes good one refused step of an answer at most: the others of that answer want something else.
    later = [wish for other in results if other.iteration > step_result.iteration for wish in _list_done(other)]
    for other in results[: results.index(step_result)]:
        if other.iteration == step_result.iteration and other.status == "refused":
            for wish in _match_all(_list_wishes(other.entry), later, _find_code(other.notice), titles) or ():
                later.remove(wish)
    return bool(wishes and _match_all(wishes, later, code, titles)) or _is_replaced(step_result, results, code)


def _match_all(wishes: Sequence[_Wish], later: Sequence[_Wish], code: str, titles: Mapping[str, str]) -> list[_Wish] | None:
    """A different one of `later` for each wish; None if one has none."""
    left, matches = list(later), []
    for wish in wishes:
        same = next((other for other in left if _is_same_wish(wish, other, code, titles)), None)
        if same is None:
            return None
        left.remove(same)
        matches.append(same)
    return matches


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
    """A name that was not found fits a record with a name or title like it."""
    if wish.number == other.number or not wish.number:
        return True
    kind = wish.number.removeprefix("@").partition(":")[0]
    return any(_is_like_name(wish.number, name) for name in (other.written.get("", ""), titles.get(f"{kind}:{other.number}", "")))


def _is_like_name(name: str, other: str) -> bool:
    """`name`, or a reference such as "@user:Зоя", is a shorter or misspelt form of `other`."""
    query, title = (text.partition(":")[2] if text.startswith("@") else text for text in (name, other))
    return is_match(query, title) or measure_misspelling(query, title) is not None


def _has_all_values(wish: _Wish, other: _Wish) -> bool:
    lost = Counter(value for name, value in wish.values.items() if name not in other.values)
    new = Counter(value for name, value in other.values.items() if name not in wish.values)
    return all(new[value] >= count for value, count in lost.items())


def _is_replaced(step_result: StepResult, results: Sequence[StepResult], code: str) -> bool:
    alone = [other for other in results if other.iteration == step_result.iteration] == [step_result]
    following = [other for other in results if other.iteration == step_result.iteration + 1]
    if not alone or code not in _MISTAKES | _READ_TROUBLE or not all(wish.reads for wish in _list_wishes(step_result.entry)):
        return False
    return bool(following) and all(other.status in {"ok", "waiting"} for other in following)


def _find_code(notice: Notice | None) -> str:
    if notice is None:
        return ""
    if notice.code == "gate-batch-refused":
        return str(notice.args.get("reason") or notice.code)
    why = notice.args.get("text")
    told = str(why.get("code")) if notice.code == "portal-refused" and isinstance(why, Mapping) else ""
    return told if told in {_NO_METHOD, "portal-error-missing"} else notice.code


def _list_done(result: StepResult) -> list[_Wish]:
    return _list_wishes(result.entry, result.done_keys, result.written) if result.status in {"ok", "waiting"} else []


def _list_wishes(entry: PlanStep, keys: frozenset[str] | None = None, model_params: JsonObject | None = None) -> list[_Wish]:
    """For a batch, commands with one of `keys` (None: all)."""
    if entry.method.lower() != "batch":
        return [_build_wish(entry.method, entry.params, model_params or entry.params)]
    cmd = next((value for name, value in entry.params.items() if name.lower() == "cmd"), None)
    raw_commands = cmd.items() if isinstance(cmd, Mapping) else enumerate(cmd) if isinstance(cmd, list) else ()
    commands = [(str(key), *str(text).strip().partition("?")[::2]) for key, text in raw_commands]
    parsed = [(method, dict(parse_qsl(query))) for key, method, query in commands if keys is None or key in keys]
    return [_build_wish(method, params, params) for method, params in parsed]


def _build_wish(method: str, params: JsonObject, model_params: JsonObject) -> _Wish:
    family, _, verb = method.strip().lower().rpartition(".")
    values, model_values = dict(_flatten(params)), dict(_flatten(model_params))
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
        written={**model_values, "": model_values.get(place, "")},
    )


def _flatten(value: object, path: str = "") -> Iterator[tuple[str, str]]:
    """(name, text) of every value; names in small letters and without «_», as methods spell them differently."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            name = str(key).lower().replace("_", "").replace("]", "").replace("[", ".")
            yield from _flatten(item, f"{path}.{name}".lstrip(".").removeprefix("fields."))
    elif isinstance(value, list | tuple):
        for number, item in enumerate(value):
            yield from _flatten(item, f"{path}.{number}")
    else:
        yield path, str(value)
