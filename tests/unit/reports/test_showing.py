"""A conversation as ops read it: in words, in order, safe to look at, found by a part of its name."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from bot.cli.ops import write_table
from orchestrator.features.portal_events.catch_up import START_EVENT
from orchestrator.reports.reading.journal_reader import InvalidMoment, parse_moment, parse_time
from orchestrator.reports.reading.sentences import describe_portal_event
from state.events.portal import PortalEventReceived
from tests.unit.reports.conftest import Run
from tests.unit.reports.story_kit import CHAT, PORTAL, SECRET, Told, rows_of

NOW = datetime(2026, 11, 21, 15, 0, tzinfo=UTC)


@pytest.mark.req("S004-36")
def test_without_a_session_all_are_listed(run: Run) -> None:
    """Who, how many events, last activity, open cards."""
    lines = rows_of(run("show").output)
    own = next(line for line in lines if line.startswith(CHAT))
    assert "Анна (tg:1007)" in own
    assert "2026-11-21 14:15:23Z" in own
    cells = [cell.strip() for cell in own.split("│")]
    assert cells[4:] == ["1", "0"]
    assert any(line.startswith(PORTAL) for line in lines)
    told = [json.loads(line) for line in rows_of(run("show", "--json").output)]
    assert [one["session"] for one in told] == [PORTAL, CHAT, "tg:1008"]
    assert next(one for one in told if one["session"] == CHAT)["open_cards"] == 1


@pytest.mark.slow
def test_on_a_pipe_one_row_is_one_line(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """However narrow: nothing is wrapped or cut, so that grep finds whole ids and times."""
    wide = rows_of(run("show", CHAT, "--last", 0).output)
    monkeypatch.setenv("COLUMNS", "40")
    assert rows_of(run("show", CHAT, "--last", 0).output) == wide
    count = len(rows_of(run("show", CHAT, "--last", 0, "--json").output))
    assert len(wide) == count + 2


def test_on_a_narrow_terminal_only_the_text_wraps(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Sessions, times and methods stay whole."""
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    cells = ("portal:company.example:42483", "2026-11-21 14:15:23Z", "crm.item.productrow.update", "word " * 30)
    write_table(("session", "time", "method", "what happened"), [cells])
    shown = capsys.readouterr().out
    assert all(cell in shown for cell in cells[:3])
    assert len(shown.splitlines()) > 5


def test_a_look_at_the_start_is_not_put_on_the_portal() -> None:
    """START is the bot's own word; a posted event is said in words, one that is not known by its name."""
    for data, words in (
        ({"event": START_EVENT, "target": "deal:481", "action": "update"}, "the bot, at its start, saw that deal:481 is not as it knew it"),
        ({"event": "ONCRMDEALUPDATE", "target": "deal:481", "action": "update"}, "the portal posted: a deal was changed (deal:481)"),
        ({"event": "ONTASKADD", "target": "task:5", "action": "add"}, "the portal posted: a task was added (task:5)"),
        ({"event": "ONOTHER", "target": "", "action": ""}, "the portal posted ONOTHER"),
    ):
        assert describe_portal_event(PortalEventReceived.from_data(data)) == words


@pytest.mark.parametrize("command", [("show",), ("replay", "--until", "9"), ("tail",)])
def test_a_groups_number_is_taken_behind_two_dashes(run: Run, command: tuple[str, ...]) -> None:
    """Without them it looks like an option, and the message says how to write it."""
    wrong = run(*command, "-100200001")
    assert wrong.exit_code == 2
    assert "-- -100200001" in wrong.output.replace("\n", " ")
    right = run(*command, "--", "-100200001")
    assert right.exit_code == 1
    assert "no session '-100200001'" in right.stderr


@pytest.mark.req("S004-36")
def test_a_conversation_is_told_in_words(run: Run, told: Told) -> None:
    """Who asked, what was proposed, why it asked with before and after, who approved by which way, how the call ended."""
    result = run("show", CHAT, "--last", 0)
    text = result.output
    assert result.exit_code == 0
    card, call = told.cards["approved"]["confirmation_id"], told.cards["approved"]["effect_id"][:10]
    for sentence in (
        "Анна (tg:1007) asked: подними сумму сделки 481 до 1 200 000",
        "the model proposed 1 step (mode full): crm.deal.update id=481 OPPORTUNITY=1200000",
        f"card {card}: crm.deal.update: «Ромашка» Сумма: 1 000 000 ₽ → 1 200 000 ₽; asked because: This changes the amount",
        f"card {card} approved by Вера (tg:1006) by button",
        f"call {call} started: crm.deal.update id=481 OPPORTUNITY=1200000, approved by Вера (tg:1006)",
        f"call {call} succeeded (",
        f"card {told.cards['denied']['confirmation_id']} denied by Анна (tg:1007) by button",
        f"card {told.cards['again']['confirmation_id']}, instead of card {told.cards['drifted']['confirmation_id']}",
        "its outcome is unknown: the answer was lost: connection reset",
        "it was done (the record has the new values)",
        "batch of 2: crm.deal.update id=481 OPPORTUNITY=1600000; crm.deal.update id=482 OPPORTUNITY=70000",
        "refused before sending, crm.deal.delete id=481",
    ):
        assert sentence in text.replace("\xa0", " "), sentence


def test_only_some_events(run: Run) -> None:
    """The newest, or those of a type; machines get one object a line with the data and the words."""
    found = [json.loads(line) for line in rows_of(run("show", CHAT, "--type", "CallStarted", "--last", 2, "--json").output)]
    assert [event["type"] for event in found] == ["CallStarted", "CallStarted"]
    assert found[0]["seq"] < found[1]["seq"]
    assert found[1]["data"]["method"] == "tasks.task.add"
    assert "Позвонить" in found[1]["words"]
    assert "--last 0 shows all" in run("show", CHAT, "--last", 3).output


@pytest.mark.parametrize(
    ("name", "code", "said"),
    [
        (f"session:{CHAT}", 0, ""),
        ("1008", 0, ""),
        ("portal", 0, ""),
        ("tg:100", 2, "fits 2: tg:1007, tg:1008"),
        ("tg:1099", 1, "did you mean tg:100"),
        ("nobody at all", 1, "no session 'nobody at all'"),
    ],
)
def test_a_session_is_found_by_its_name_or_a_part(run: Run, name: str, code: int, said: str) -> None:
    """As it is, as a stream, by a part that one has; else what comes close is named."""
    result = run("show", name)
    assert result.exit_code == code
    assert said in result.stderr


@pytest.mark.req("S004-A12")
@pytest.mark.parametrize(
    "arguments", [("show", CHAT, "--last", "0"), ("tail", "-n", "99"), ("replay", CHAT, "--until", "999"), ("why", "deal", "482")]
)
def test_text_of_strangers_cannot_fake_or_hide(run: Run, arguments: tuple[str, ...]) -> None:
    """Escapes, direction marks and line breaks are drawn; a made-up row is no row; no secret is shown, in tables or JSON."""
    text = run(*arguments).output
    as_json = run(*arguments, *(("--step",) if arguments[0] == "replay" else ()), "--json").output
    for output in (text, as_json):
        assert "\x1b" not in output
        assert SECRET not in output
        assert "topsecretcode17" not in output
    assert "\u202e" not in text
    assert all(json.loads(line) for line in rows_of(as_json))
    lines = text.splitlines()
    assert any("⟨U+001B⟩" in line and "⏎ # 99" in line for line in lines)
    assert not any(line.lstrip().startswith("# 99") for line in lines)


@pytest.mark.slow
def test_buttons_of_open_cards_are_not_given_away(run: Run, told: Told) -> None:
    """The number that proves which card somebody saw is nowhere in what ops read."""
    nonce = f'"{told.cards["open"]["nonce"]}"'
    commands = (
        ("show", CHAT, "--last", 0, "--json"),
        ("replay", CHAT, "--until", 999, "--json"),
        ("export",),
        ("why", "deal", 482, "--json"),
    )
    for arguments in (*commands, ("replay", CHAT, "--until", 999, "--step", "--json"), ("diff", CHAT, 1, 999, "--json")):
        assert nonce not in run(*arguments).output


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("42", 42),
        ("2026-11-21T14:05:00Z", datetime(2026, 11, 21, 14, 5, tzinfo=UTC)),
        ("2026-11-21T17:05:00+03:00", datetime(2026, 11, 21, 14, 5, tzinfo=UTC)),
        ("2026-11-21 14:05", datetime(2026, 11, 21, 14, 5, tzinfo=UTC)),
        ("2026-11-21", datetime(2026, 11, 21, tzinfo=UTC)),
        ("14:05", datetime(2026, 11, 21, 14, 5, tzinfo=UTC)),
        ("9:05", datetime(2026, 11, 21, 9, 5, tzinfo=UTC)),
        ("2h ago", NOW - timedelta(hours=2)),
        ("3 days ago", NOW - timedelta(days=3)),
        ("90 min ago", NOW - timedelta(minutes=90)),
    ],
)
def test_moments_are_read_as_people_write_them(text: str, expected: int | datetime) -> None:
    """Numbers, ISO, a clock time of today, so long ago; UTC where nothing else is said."""
    assert parse_moment(text, NOW) == expected


@pytest.mark.parametrize("text", ["", "yesterday-ish", "25:00", "2026-13-01", "-5", "999999d ago ago", "999999 w ago"])
def test_what_is_no_moment_is_refused(text: str) -> None:
    """The sentence says what may be written."""
    with pytest.raises(InvalidMoment, match="give a record number"):
        parse_time(text, NOW)
