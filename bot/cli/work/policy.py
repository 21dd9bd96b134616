import contextlib
from collections.abc import Callable, Iterator
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path

import typer

from bitrix.catalogue.catalogue import load_catalogue
from bitrix.masking import mask, mask_value
from bot.access.access import Access, load_access
from bot.cli.ops import open_tolerant_reader, write_json_lines, write_table
from bot.composition.model_checks import list_talking_models
from bot.definition_service import describe_absent_kinds, list_known_kinds
from bot.http_api.server.tokens import PREFIX, Tokens, read_tokens
from bot.plugins.building import load_installed_engines
from bot.policy.policy_desk import find_portal
from bot.settings.loading import load_settings
from bot.settings.settings import Settings
from orchestrator.domain.actor import Actor, Mode
from orchestrator.domain.errors import SettingsError
from orchestrator.features.people.registry import STREAM, extract_registry
from orchestrator.gate.call.policy import SHIPPED, check_policy, load_with_places
from orchestrator.reports.policy_explain import ExplainedCall, HypotheticalCall, explain_hypothetical, explain_recorded
from orchestrator.reports.rehearsal.recorded_plans import read_plans
from orchestrator.reports.rehearsal.rehearse import RehearsedPlan, Rules, evaluate_plans, find_reason_code, format_reason
from orchestrator.reports.rehearsal.summary import Summary, format_moment, rank_counts
from state.clock import SystemClock, format_iso, parse_iso
from state.events.codec import UnknownEvent
from state.journal.journal import load_state
from state.journal.store import Store, StoreError

_UNITS = {"d": "days", "h": "hours", "m": "minutes"}
_SINCE_HELP = "--since: a date such as 2026-11-08, a time such as 2026-11-08T09:00Z, or how long ago such as 14d or 36h is needed"


def replay(*, policy: Path | None, mode: Mode, since: str, as_json: bool) -> None:
    settings = load_settings()
    start = _parse_since(since)
    _load_rules(settings, policy or settings.policy_file, mode)  # a faulty policy is told before a missing database
    summary = Summary()
    rows: list[tuple[str, ...]] = []
    with _translate_store_errors(), open_tolerant_reader(settings) as (store, finish):
        rules = _load_rules(settings, policy or settings.policy_file, mode, store)
        for rehearsed in evaluate_plans(read_plans(store, since=start), rules):
            summary.add(rehearsed)
            if rehearsed.plan.left_out:
                continue
            if as_json:
                write_json_lines([mask_value(_build_line(rehearsed))])
            else:
                rows.extend(_build_rows(rehearsed))
    if as_json:
        write_json_lines([mask_value(summary.as_data() | {"mode": mode})])
    else:
        _show(sorted(rows, key=lambda row: row[0]), summary, mode)
    finish()


def check(*, policy: Path | None) -> None:
    settings = load_settings()
    path = policy or settings.policy_file
    loaded = _load_rules(settings, path, "full").policy
    typer.echo(f"{(path or SHIPPED).name}: no mistakes; {len(loaded.rules)} rules, version {loaded.digest}.")
    unpriced = filter(None, map(loaded.budget.describe_unpriced, list_talking_models(settings)))
    for hint in (*describe_absent_kinds(loaded, load_installed_engines()), *unpriced):
        typer.echo(f"Note: {hint}.", err=True)


def explain(  # noqa: PLR0913 - one parameter for each option of the command
    call: str,
    *,
    method: str,
    field: str,
    amount: str,
    before: str,
    currency: str,
    person: str,
    mode: Mode | None,
    policy: Path | None,
    as_json: bool,
) -> None:
    settings = load_settings()
    if bool(call) == bool(method):
        raise SettingsError("either a recorded call or --method is needed")
    path = policy or settings.policy_file
    rules = _load_rules(settings, path, mode or settings.agent_mode)
    if method:
        lines = [
            explain_hypothetical(
                HypotheticalCall(method=method, field=field, amount=amount, before=before, currency=currency, person=person), rules, path
            )
        ]
    else:
        with _translate_store_errors(), open_tolerant_reader(settings) as (store, finish):
            rules = _load_rules(settings, path, rules.mode, store)
            lines = explain_recorded(call, store, rules, path)
            finish()
    if as_json:
        write_json_lines([mask_value(asdict(line)) for line in lines])
    else:
        for line in lines:
            _show_explained(line)
    if not lines:
        typer.echo(f"The journal holds no call {call}: `sdelka journal why` shows what it holds.", err=True)
        raise typer.Exit(1)


def _show_explained(line: ExplainedCall) -> None:
    taps = f", {line.taps} taps" if line.taps > 1 else ""
    then = f" (then: {mask(line.then)})" if line.then else ""
    call = f"{mask(line.method)} by {mask(line.person)}"
    typer.echo(f"{call} in mode {line.mode}: {line.verdict}{taps}{then}. Policy {line.policy}.")
    write_table(("says", "who says it", "why"), [(row.says, mask(row.source), mask(row.text)) for row in line.reasons])


@contextlib.contextmanager
def _translate_store_errors() -> Iterator[None]:
    """Errors of the database become SettingsError."""
    try:
        yield
    except (StoreError, UnknownEvent) as error:
        raise SettingsError(f"the database cannot be read: {mask(str(error))}") from None


def _parse_since(since: str) -> str:
    """ISO 8601 in UTC, "" if none is given. Raises SettingsError."""
    text = since.strip()
    if not text:
        return ""
    if text[:-1].isdecimal() and text[-1] in _UNITS:
        try:
            return format_iso(SystemClock().now() - timedelta(**{_UNITS[text[-1]]: int(text[:-1])}))
        except OverflowError:
            raise SettingsError(_SINCE_HELP) from None
    try:
        moment = datetime.fromisoformat(text)
        return format_iso(parse_iso((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).isoformat()))
    except (ValueError, OverflowError):
        raise SettingsError(_SINCE_HELP) from None


def _load_rules(settings: Settings, path: Path | None, mode: Mode, store: Store | None = None) -> Rules:
    """None is the shipped policy. Without `store` people who joined by invitation are unknown. Raises SettingsError."""
    loaded = load_with_places(path)
    policy = loaded.policy
    try:
        catalogue = load_catalogue(SHIPPED.parent / "catalogue", [row.model_dump() for row in policy.catalogue])
    except ValueError as error:
        raise SettingsError(f"POLICY_FILE {path.name if path else SHIPPED.name}: catalogue: {error}") from None
    faults = check_policy(policy, catalogue, loaded.places, kinds=list_known_kinds(settings, load_installed_engines(), policy))
    if faults:
        raise SettingsError("\n".join(faults))
    return Rules(
        catalogue=catalogue,
        policy=policy,
        mode=mode,
        person=_build_actor_finder(settings, store),
        portal=find_portal(settings),
        by_webhook=settings.bitrix_oauth_client_id is None,
    )


def _build_actor_finder(settings: Settings, store: Store | None = None) -> Callable[[str], Actor | None]:
    """With present rights; None for who has no access today. Raises SettingsError for an invalid access file or tokens."""
    access = load_access(settings.access_file)
    tokens = Tokens(read_tokens(settings.http_api_tokens, settings.agent_mode), access.find_grant)
    if store is not None:
        _add_joined_people(access, store)

    def find(key: str) -> Actor | None:
        door, _, name = key.partition(":")
        if door == "cli":
            return Actor(key=key, name=name, role="admin", sees="all")
        if key.startswith(PREFIX):
            client = tokens.find_by_name(name)
            return client.actor if client is not None else None
        return access.find_actor_by_key(key)

    return find


def _add_joined_people(access: Access, store: Store) -> None:
    """A registry that cannot be read is left out."""
    try:
        state, seq = load_state(store, STREAM)
    except (StoreError, UnknownEvent):
        return
    access.apply_registry(extract_registry(state), seq)


def _build_line(rehearsed: RehearsedPlan) -> dict[str, object]:
    plan = rehearsed.plan
    steps = [
        {
            "call": judged.step.call,
            "slot": judged.step.slot,
            "method": judged.step.method,
            "then": judged.step.fate,
            "then_more": judged.step.fate_note,
            "now": judged.now,
            "reasons": [{"code": find_reason_code(reason), "text": format_reason(reason)} for reason in judged.reasons],
            "not_recorded": judged.missing_facts,
        }
        for judged in rehearsed.steps
    ]
    head = {"kind": "plan", "at": plan.at, "session": plan.session, "turn": plan.turn_id, "person": plan.person, "mode_then": plan.mode}
    name = rehearsed.actor.name if rehearsed.actor else ""
    return {**head, "name": name, "iteration": plan.iteration, "steps": steps}


def _build_rows(rehearsed: RehearsedPlan) -> Iterator[tuple[str, ...]]:
    plan = rehearsed.plan
    name = rehearsed.actor.name if rehearsed.actor else ""
    for number, judged in enumerate(rehearsed.steps, start=1):
        yield (
            format_moment(plan.at),
            mask(name or plan.person),
            f"{plan.iteration}.{number}",
            mask(judged.step.method),
            mask(judged.step.fate_with_note),
            f"{judged.now}{' *' if judged.missing_facts else ''}",
            " ".join(dict.fromkeys(mask(format_reason(reason)) for reason in judged.reasons)),
            judged.step.call[:12],
        )


def _show(rows: list[tuple[str, ...]], summary: Summary, mode: str) -> None:
    if rows:
        write_table(("when", "who", "step", "method", "then", "now", "why", "call"), rows)
    typer.echo("")
    for sentence in summary.render_sentences(mode):
        typer.echo(mask(sentence))
    if not rows:
        return
    if summary.missing_counts:
        typer.echo("A star marks the steps whose verdict hangs on what was not recorded.")
    typer.echo("")
    counted = ("allowed", "asked", "refused", "planned")
    for column, counts in (("person", summary.people), ("method", summary.methods)):
        ranked = [(mask(name), by_verdict.total(), *(by_verdict[now] for now in counted)) for name, by_verdict in rank_counts(counts)[:10]]
        write_table((column, "steps", "run at once", "asked", "refused", "planned"), ranked, title=f"By {column}")
    reasons = [
        (entry.now, entry.steps, mask(entry.text), ", ".join(f"{mask(one['session'])} {one['call'][:12]}" for one in entry.examples))
        for entry in summary.list_reasons()[:10]
    ]
    if reasons:
        write_table(("now", "steps", "reason", "examples (sdelka journal why CALL)"), reasons, title="By reason")
    write_table(("then", "now", "steps"), [(then, now, count) for (then, now), count in sorted(summary.then.items())], title="Then and now")
