"""A schedule of runs as one exact call. Pure."""

from typing import Annotated, Any, Final

from pydantic import AfterValidator, ConfigDict, Field, StrictStr, model_validator

from orchestrator.domain.address import Address
from orchestrator.domain.frozen import LateModel
from orchestrator.domain.taint import ORIGINS
from orchestrator.gate.call.params import Refusal, build_refusal
from orchestrator.gate.call.reasons import refuse
from orchestrator.language.schedule_terms import TermsError, parse_terms
from state.canonical import NotCanonical, dumps
from state.clock import format_iso
from state.stored import JsonObject

KIND: Final = "schedule"
ADD: Final = "schedule.run.add"
PERSON: Final = "person"
"""Always the requester, whatever was written."""
DEFINITION: Final = "definition"
TITLE: Final = "title"
MARK: Final = "ORIGIN_ID"
ARG_ORIGINS: Final = "origins"
"""Set by the run that proposes the effect, never by its engine."""
MAX_ARGS: Final = 50
MAX_SIZE: Final = 16_000
LONGEST_NOTE: Final = 200


def _check_note(text: str) -> str:
    plain = " ".join(text.split())
    if not plain.isprintable():
        msg = "a short text is needed"
        raise ValueError(msg)
    return plain


def _check_key(text: str) -> str:
    if not text.isprintable() or text != text.strip():
        msg = "the key of a definition is needed"
        raise ValueError(msg)
    return text


def _check_args(args: dict[str, Any]) -> dict[str, Any]:
    try:
        size = len(dumps(args))
    except (NotCanonical, RecursionError) as error:
        msg = f"this is no JSON: {error}"
        raise ValueError(msg) from None
    if size > MAX_SIZE:
        msg = f"the values have {size} characters, and {MAX_SIZE} are possible"
        raise ValueError(msg)
    return args


def _check_origins(origins: list[str]) -> list[str]:
    if wrong := set(origins) - ORIGINS:
        msg = f"unknown: {', '.join(sorted(wrong))[:60]}"
        raise ValueError(msg)
    return sorted(set(origins))


Name = Annotated[StrictStr, Field(min_length=1, max_length=200, pattern=r"^[A-Za-z0-9_.:/-]+$")]
Key = Annotated[StrictStr, Field(min_length=1, max_length=200), AfterValidator(_check_key)]
"""In any language."""
ArgName = Annotated[StrictStr, Field(min_length=1, max_length=64, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]


class RunScheduleParams(LateModel):
    """Unknown names are refused, and errors do not quote values."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    engine: Name
    definition: Key
    args: Annotated[dict[ArgName, Any], Field(max_length=MAX_ARGS), AfterValidator(_check_args)] = Field(default_factory=dict)
    origins: dict[ArgName, Annotated[list[StrictStr], AfterValidator(_check_origins)]] = Field(default_factory=dict)
    at: StrictStr | None = None
    cron: StrictStr | None = None
    zone: StrictStr | None = None
    note: Annotated[StrictStr, Field(max_length=LONGEST_NOTE), AfterValidator(_check_note)] = ""

    @model_validator(mode="after")
    def _check_names(self) -> "RunScheduleParams":
        if set(self.origins) - set(self.args):
            msg = "origins: there are no such values"
            raise ValueError(msg)
        return self


def is_schedule(kind: str, method: str) -> bool:
    return kind == KIND and method.strip() in {ADD, ADD.removeprefix(f"{KIND}.")}


def normalize_schedule(checked: JsonObject, *, person: str, effect_id: str, zone: str) -> dict[str, Any]:
    """Raises Refusal.

    A value of untold origins counts as text of strangers. A cron line is read in `zone` unless it names another.
    """
    if not (Address.parse(person).is_messenger or Address.parse(person).is_pulled):
        raise Refusal(refuse("gate-schedule-person", method=ADD))
    origins = {name: checked.get(ARG_ORIGINS, {}).get(name, ["prose"]) for name in checked.get("args", {})}
    try:
        terms = parse_terms(checked.get("at"), checked.get("cron"), checked.get("zone") or zone)
    except TermsError as error:
        raise _build_terms_refusal(error) from None
    when = {"at": format_iso(terms.at)} if terms.at is not None else {"cron": terms.cron, "zone": terms.zone}
    content = {name: checked[name] for name in ("engine", "definition", "args", "note") if checked.get(name)}
    return {**content, **when, **({ARG_ORIGINS: origins} if origins else {}), PERSON: person, MARK: effect_id}


def _build_terms_refusal(error: TermsError) -> Refusal:
    fault = error.fault if error.cron is None else "line"
    return build_refusal("gate-schedule-when", method=ADD, param=error.param, fault=fault, why=error.detail)
