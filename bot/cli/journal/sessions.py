"""A conversation's events, and its state at a moment. They send nothing."""

from collections.abc import Iterable, Iterator

from bot.cli.inputs import find_run, format_time
from bot.cli.journal.common import open_journal, write_lines
from bot.cli.ops import open_database_reader, write_json_lines, write_table
from orchestrator.domain.card_view import Preview
from orchestrator.engines.base import PlanStep
from orchestrator.reports.conversations import list_conversations, read_conversation, render_event
from orchestrator.reports.reading.journal_reader import Narrator, find_stream, hide_secrets, parse_moment, to_one_line, to_session_name
from orchestrator.reports.reading.sentences import describe_call, describe_changes, to_short_id
from orchestrator.reports.replay import Change, ReplayedState, compare_states, replay_state, replay_steps
from state.model.card import Card
from state.model.session_state import AgentState, Question

_MAX_SHOWN = 10
_WIDTH = 16


def format_state(then: ReplayedState, voice: Narrator) -> Iterator[str]:
    """An empty part is "—"."""
    agent = then.state.agent
    place = f"after record #{then.seq}, {format_time(then.ts)}" if then.seq else "before its first record"
    yield f"{to_session_name(then.stream)} {place}"
    yield from _format_block("goals", (to_one_line(goal) for goal in agent.goals))
    yield from _format_block("turn under way", [f"began {format_time(then.state.turn.started)}"] if then.state.turn else [])
    yield from _format_block("question asked", _format_question(then.state.question))
    waiting = [entry for entry in agent.confirmations.values() if entry.status == "requested"]
    yield from _format_block("open cards", (_format_open_card(entry, voice) for entry in waiting))
    yield from _format_block(
        "current records", (f"{key.removeprefix('current_').removesuffix('_id')} {value}" for key, value in _iterate_current_records(agent))
    )
    yield from _format_block(
        "in progress",
        (f"{item.method} since {format_time(item.ts)} [{to_short_id(item.effect_id)}]" for item in agent.in_progress),
    )
    doubtful = then.state.unknown.items()
    yield from _format_block("unknown outcome", (f"{item.method} at {format_time(item.ts)} [{to_short_id(key)}]" for key, item in doubtful))
    decided = [entry for entry in agent.confirmations.values() if entry.status != "requested"]
    yield from _format_block("decided cards", (_format_decided_card(entry, voice) for entry in decided[-_MAX_SHOWN:]))
    yield from _format_block(
        "done", (f"{format_time(item['timestamp'])} {to_one_line(item['description'])}" for item in agent.done[-_MAX_SHOWN:])
    )
    yield from _format_block(
        "planned next", (describe_call(item.method, item.params) for item in map(PlanStep.from_stored, agent.next_planned_actions))
    )
    yield from _format_block(
        "subscriptions", (to_one_line(f"{item.get('event')} → {item.get('handler')}") for item in agent.event_bindings)
    )
    yield from _format_block("last words", (f"{item.role}: {to_one_line(item.text)}" for item in then.state.history[-_MAX_SHOWN:]))
    if then.state.portal:
        due = then.state.portal.due
        yield from _format_block("portal", [f"{len(then.state.portal.seen)} records known, {len(due)} due to be looked at"])


def _format_block(title: str, lines: Iterable[str]) -> Iterator[str]:
    head = title
    for line in lines:
        yield f"  {head:<{_WIDTH}} {line}"
        head = ""
    if head:
        yield f"  {head:<{_WIDTH}} —"


def _format_question(question: Question | None) -> list[str]:
    if not question:
        return []
    options = ", ".join(to_one_line(option.get("label"), limit=60) for option in question.options)
    return [f"which one “{to_one_line(question.reference)}” is: {options}"]


def _iterate_current_records(agent: AgentState) -> Iterator[tuple[str, object]]:
    yield from ((key, value) for key, value in agent.objects.items() if key != "links" and value is not None)


def _format_open_card(entry: Card, voice: Narrator) -> str:
    who = voice.format_person(entry.requested_by, entry.requested_by_name)
    until = format_time(entry.expires_at)
    return f"{_format_call(entry)} — asked by {who}, until {until} [{to_short_id(entry.confirmation_id)}]"


def _format_decided_card(entry: Card, voice: Narrator) -> str:
    by = entry.approved_by or entry.denied_by
    name = entry.approved_by_name or entry.denied_by_name or ""
    who = f" · {voice.format_person(by, name)}" if by else ""
    return f"{entry.status}: {_format_call(entry)}{who} [{to_short_id(entry.confirmation_id)}]"


def _format_call(entry: Card) -> str:
    changes = describe_changes(Preview.model_validate(entry.preview))
    return f"{entry.method}: {changes}" if changes else describe_call(entry.method, entry.params)


def show(session: str, last: int, type_: list[str], *, as_json: bool) -> None:
    with open_journal() as reader:
        if not session:
            conversations = list(list_conversations(reader.store, reader.voice))
            if as_json:
                write_json_lines([vars(conversation) for conversation in conversations])
                return
            rows = [
                (one.session, ", ".join(one.people), one.events, format_time(one.last), one.open_cards, one.unknown)
                for one in conversations
            ]
            write_table(("session", "people", "events", "last activity", "open cards", "unknown outcomes"), rows)
            return
        stream = find_stream(reader.store, session)
        lines = (render_event(event, reader.voice) for event in read_conversation(reader.store, stream, last=last, types=type_))
        if as_json:
            for line in lines:
                write_json_lines([line.to_json()])
            return
        rows_ = [(line.event.seq, format_time(line.event.ts), line.who, line.words) for line in lines]
        write_table(("#", "time", "who", "what happened"), rows_)
        if last and len(rows_) == last:
            write_lines([f"These are the newest {last}; --last 0 shows all."])


def show_run(run: str, last: int, *, as_json: bool) -> None:
    with open_database_reader() as store:
        run_id = find_run(store, run)
    show(f"run:{run_id}", last, [], as_json=as_json)


def replay(session: str, until: str, *, step: bool, as_json: bool) -> None:
    with open_journal() as reader:
        stream = find_stream(reader.store, session)
        moment = parse_moment(until, reader.now)
        if step:
            for replayed in replay_steps(reader.store, stream, moment):
                event, words = replayed.event, render_event(replayed.event, reader.voice).words
                if as_json:
                    changes = [hide_secrets(vars(change)) for change in replayed.changes]
                    write_json_lines([{"seq": event.seq, "ts": event.ts, "type": event.type, "words": words, "changes": changes}])
                    continue
                write_lines(
                    [f"#{event.seq} {format_time(event.ts)} {words}", *(f"    {text}" for text in format_changes(replayed.changes))]
                )
            return
        then = replay_state(reader.store, stream, moment)
        if as_json:
            write_json_lines(
                [{"session": to_session_name(stream), "seq": then.seq, "ts": then.ts, "state": hide_secrets(then.state.to_stored())}]
            )
            return
        write_lines(format_state(then, reader.voice))


def diff(session: str, start: str, end: str, *, as_json: bool) -> None:
    with open_journal() as reader:
        stream = find_stream(reader.store, session)
        before, after = (replay_state(reader.store, stream, parse_moment(text, reader.now)) for text in (start, end))
        changes = list(compare_states(before.state.to_stored(), after.state.to_stored()))
        if as_json:
            write_json_lines([hide_secrets(vars(change)) for change in changes])
            return
        ends = " → ".join(f"#{one.seq}{f' ({format_time(one.ts)})' if one.ts else ' (before the first)'}" for one in (before, after))
        write_lines([ends, *(format_changes(changes) or ["nothing changed"])])


def format_changes(changes: Iterable[Change]) -> list[str]:
    """Such as "~ agent.goals[0]: a → b"; control characters are escaped, secrets hidden."""

    def told(value: object) -> str:
        return to_one_line("nothing" if value in (None, "", [], {}) else hide_secrets(value), limit=160)

    lines = []
    for change in changes:
        path = to_one_line(change.path, limit=120)
        nonce = path.endswith("nonce")
        before, after = ("***" if nonce else told(value) for value in (change.before, change.after))
        lines.append(
            f"~ {path}: {before} → {after}" if change.sign == "~" else f"{change.sign} {path}: {after if change.sign == '+' else before}"
        )
    return lines
