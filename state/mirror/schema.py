"""The tables of the mirror: ids, sums, dates and codes of the portal's records, to count with.

No title, name, phone or text. The file is no part of the journal or of backups, and may be deleted at any time: it is loaded again.
Times are seconds since 1970 by the portal's clock, days ISO dates ("2026-11-30"), sums whole hundredths. "" of the portal is NULL.
`base` is `amount` in the portal's base currency at the rates of table `rate`; NULL if the currency has no rate.
"""

from typing import Final

VERSION: Final = 2

TABLES: Final = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE deal (
    id INTEGER PRIMARY KEY, funnel INTEGER NOT NULL, stage TEXT NOT NULL, semantics TEXT NOT NULL, person INTEGER, company INTEGER,
    contact INTEGER, lead INTEGER, source TEXT, type TEXT, currency TEXT, amount INTEGER, base INTEGER, probability INTEGER,
    created INTEGER NOT NULL, modified INTEGER NOT NULL, moved INTEGER, active INTEGER, expected TEXT,
    closed INTEGER, reached INTEGER);
CREATE TABLE lead (
    id INTEGER PRIMARY KEY, stage TEXT NOT NULL, semantics TEXT NOT NULL, person INTEGER, company INTEGER, source TEXT, currency TEXT,
    amount INTEGER, base INTEGER, created INTEGER NOT NULL, modified INTEGER NOT NULL, moved INTEGER, closed INTEGER, called INTEGER);
CREATE TABLE item (
    type INTEGER NOT NULL, id INTEGER NOT NULL, funnel INTEGER NOT NULL, stage TEXT, semantics TEXT, person INTEGER, company INTEGER,
    deal INTEGER, source TEXT, currency TEXT, amount INTEGER, base INTEGER, created INTEGER NOT NULL, modified INTEGER NOT NULL,
    moved INTEGER, expected TEXT, closed INTEGER, PRIMARY KEY (type, id)) WITHOUT ROWID;
CREATE TABLE activity (
    id INTEGER PRIMARY KEY, owner_type INTEGER NOT NULL, owner INTEGER NOT NULL, type INTEGER NOT NULL, provider TEXT, person INTEGER,
    direction INTEGER, created INTEGER NOT NULL, started INTEGER, deadline INTEGER, is_done INTEGER NOT NULL, modified INTEGER NOT NULL);
CREATE TABLE call (
    id INTEGER PRIMARY KEY, person INTEGER, direction INTEGER NOT NULL, code TEXT, seconds INTEGER NOT NULL, started INTEGER NOT NULL,
    owner_type INTEGER, owner INTEGER);
CREATE TABLE task (
    id INTEGER PRIMARY KEY, person INTEGER, author INTEGER, status INTEGER NOT NULL, created INTEGER NOT NULL, modified INTEGER NOT NULL,
    deadline INTEGER, done INTEGER);
CREATE TABLE move (
    id INTEGER PRIMARY KEY, deal INTEGER NOT NULL, type INTEGER NOT NULL, funnel INTEGER NOT NULL, stage TEXT NOT NULL,
    semantics TEXT NOT NULL, entered INTEGER NOT NULL, left INTEGER, came_from TEXT);
CREATE TABLE choice (
    kind TEXT NOT NULL, record INTEGER NOT NULL, field TEXT NOT NULL, value TEXT NOT NULL,
    PRIMARY KEY (kind, field, record, value)) WITHOUT ROWID;
CREATE TABLE stage (
    kind TEXT NOT NULL, funnel INTEGER NOT NULL, code TEXT NOT NULL, sort INTEGER NOT NULL, semantics TEXT NOT NULL,
    PRIMARY KEY (kind, funnel, code)) WITHOUT ROWID;
CREATE TABLE person (id INTEGER PRIMARY KEY, department INTEGER, is_active INTEGER NOT NULL);
CREATE TABLE rate (currency TEXT PRIMARY KEY, amount REAL NOT NULL, is_base INTEGER NOT NULL, updated TEXT) WITHOUT ROWID;
CREATE TABLE change (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, record INTEGER NOT NULL, field TEXT NOT NULL, before TEXT, after TEXT,
    at INTEGER NOT NULL);
CREATE TABLE chance (funnel INTEGER NOT NULL, stage TEXT NOT NULL, share REAL NOT NULL, closed INTEGER NOT NULL,
    PRIMARY KEY (funnel, stage)) WITHOUT ROWID;
"""
"""What is derived at each refresh.

deal.closed, lead.closed, item.closed: the moment of the last final move (of deals from `move`, without history from `moved`);
NULL while open.
deal.reached: the highest `sort` among the stages, that are no failure, on which the deal has ever been.
lead.called: the first outgoing call to the lead.
move.left, move.came_from: when the deal left this stage (NULL: it is there), and the stage before, in the order of (entered, id).
stage: kind "deal" (per funnel), "lead" (funnel 0), "item:31"; semantics P in work, S won, F lost.
choice: values of list fields, one row each; kind as of stage.
chance: the share of won among the deals that were on this stage and closed in the last 365 days, and how many these are; for a stage of
fewer than 30 that of its funnel.
change: what refreshes found changed, for orders that watch; field "" is a new record. Kept for some days.
"""

WATCHED: Final = {
    "deal": ("stage", "funnel", "amount", "currency", "person", "expected", "source", "company"),
    "lead": ("stage", "amount", "currency", "person", "source"),
    "task": ("status", "deadline", "person"),
}
"""Columns whose changes are noted, by table."""
_PARTS: Final = {"deal": "deals", "lead": "leads", "task": "tasks"}

INDEXES: Final = """
CREATE INDEX deal_closed ON deal (closed);
CREATE INDEX deal_created ON deal (created);
CREATE INDEX deal_stage ON deal (funnel, stage);
CREATE INDEX deal_company ON deal (company, closed);
CREATE INDEX lead_created ON lead (created);
CREATE INDEX activity_owner ON activity (owner_type, owner, is_done);
CREATE INDEX activity_deadline ON activity (deadline);
CREATE INDEX call_started ON call (started);
CREATE INDEX call_owner ON call (owner_type, owner);
CREATE INDEX move_deal ON move (deal, entered, id);
CREATE INDEX move_left ON move (left);
CREATE INDEX move_entered ON move (entered);
"""


def _build_triggers(table: str) -> str:
    """A first load is no news: its rows come before the part is ready."""
    is_ready = f"(SELECT value FROM meta WHERE name = 'part.{_PARTS[table]}') = 'ready'"  # noqa: S608 - our own names
    noted = [
        f"INSERT INTO change (kind, record, field, before, after, at) SELECT '{table}', new.id, '{column}', old.{column}, new.{column},"
        f" new.modified WHERE old.{column} IS NOT new.{column};"
        for column in WATCHED[table]
    ]
    return f"""
CREATE TRIGGER {table}_changed AFTER UPDATE OF {", ".join(WATCHED[table])} ON {table} BEGIN {" ".join(noted)} END;
CREATE TRIGGER {table}_added AFTER INSERT ON {table} WHEN {is_ready} BEGIN
INSERT INTO change (kind, record, field, at) VALUES ('{table}', new.id, '', new.modified); END;"""  # noqa: S608 - as above


TRIGGERS: Final = "".join(map(_build_triggers, WATCHED))
