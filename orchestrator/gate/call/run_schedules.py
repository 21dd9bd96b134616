"""Normalizes a schedule of runs: what is started, when, with which values. The runs have the rights of who requested it. Pure."""

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
"""The parameter that holds for whom the runs work: always set here to the requester, whatever was written."""
DEFINITION: Final = "definition"
"""The parameter that holds the key of what is started; the before-image has what people call it under `TITLE`."""
TITLE: Final = "title"
MARK: Final = "ORIGIN_ID"
"""The parameter that holds the id of the effect that makes the schedule; it is not part of the request itself."""
ARG_ORIGINS: Final = "origins"
"""The parameter that says where each value comes from, by its name. The run that proposes the effect sets it, never its engine."""
MAX_ARGS: Final = 50
MAX_SIZE: Final = 16_000
"""How many characters all values together may have as JSON."""
LONGEST_NOTE: Final = 200


def _check_note(text: str) -> str:
    kept = " ".join(text.split())
    if not kept.isprintable():
        msg = "a short text is needed"
        raise ValueError(msg)
    return kept


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
"""The key of a definition, which its author may write in any language."""
ArgName = Annotated[StrictStr, Field(min_length=1, max_length=64, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]


class RunScheduleParams(LateModel):
    """The parameters of a schedule. Unknown names are refused, and errors do not quote values."""

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
    """Return whether a proposed effect of this kind and method makes a schedule of runs; methods may be written without their kind."""
    return kind == KIND and method.strip() in {ADD, ADD.removeprefix(f"{KIND}.")}


def normalize_schedule(made: JsonObject, *, person: str, effect_id: str, zone: str) -> dict[str, Any]:
    """Return the parameters of a schedule in their only accepted form, with the person's key and the effect id.

    `made` are the parameters, checked one by one. A value whose origins nobody has told counts as text of strangers. `zone` is the
    requester's time zone, in which a cron line is read unless it names another. Raises Refusal.
    """
    if not (Address.parse(person).is_messenger or Address.parse(person).is_pulled):
        raise Refusal(refuse("gate-schedule-person", method=ADD))
    told = {name: made.get(ARG_ORIGINS, {}).get(name, ["prose"]) for name in made.get("args", {})}
    try:
        terms = parse_terms(made.get("at"), made.get("cron"), made.get("zone") or zone)
    except TermsError as error:
        raise _build_terms_refusal(error) from None
    when = {"at": format_iso(terms.at)} if terms.at is not None else {"cron": terms.cron, "zone": terms.zone}
    kept = {name: made[name] for name in ("engine", "definition", "args", "note") if made.get(name)}
    return {**kept, **when, **({ARG_ORIGINS: told} if told else {}), PERSON: person, MARK: effect_id}


def _build_terms_refusal(error: TermsError) -> Refusal:
    fault = error.fault if error.cron is None else "line"
    return build_refusal("gate-schedule-when", method=ADD, param=error.param, fault=fault, why=error.detail)
