"""Replays recorded runs of public agents (WorkBench) through the product: their customers as leads or deals, one recorded call an answer.

The folder holds workbench_crm.json: `customers`, `tasks` with gold answers, `runs` with the calls of a model. Nothing of it is in this repository.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from orchestrator.domain.actor import Actor
from sandbox.portal.portal import Settings
from sandbox.portal.seed_data import DEAL_STAGES, LEAD_STAGES
from tests.arena.cases import Call, Case
from tests.arena.play import Stage
from tests.unit.gate.sandbox_kit import clock

FIRST: Final = 1000
"""The id of the record of customer 0."""
PRODUCTS: Final = {101: "Software", 103: "Hardware", 105: "Services", 107: "Consulting", 109: "Training"}
INTEREST, CONTACTED, FOLLOW_UP = "UF_CRM_INTEREST", "UF_CRM_CONTACTED", "UF_CRM_FOLLOWUP"
STATUSES: Final = {
    "lead": {"Lead": "NEW", "Qualified": "IN_PROCESS", "Proposal": "PROCESSED", "Won": "CONVERTED", "Lost": "JUNK"},
    "deal": {"Lead": "NEW", "Qualified": "PREPARATION", "Proposal": "PREPAYMENT_INVOICE", "Won": "WON", "Lost": "LOSE"},
}
_BOUNDS: Final = {"_min": ">=", "_max": "<="}
_STAGE: Final = {"lead": "STATUS_ID", "deal": "STAGE_ID"}
_STAGES: Final = {"lead": (LEAD_STAGES, 1), "deal": (DEAL_STAGES, len(LEAD_STAGES) + 1)}
"""The stages of the sample firm, and the id of the first."""
_COLUMNS: Final = {
    "customer_name", "assigned_to_email", "customer_email", "customer_phone", "last_contact_date", "product_interest", "status", "notes", "follow_up_by",
}  # fmt: skip
_EMPLOYEES: Final = """
aisha.chen akira.sato amir.ali anaya.patel carlos.rodriguez chenwei.zhang dmitri.ivanov fatima.khan jinsoo.park kofi.mensah
leila.azizi lena.schmidt luis.ortiz nadia.moreau nia.johnson olga.petrova raj.patel santiago.martinez sofia.santos yuki.tanaka
"""
_FIRST_EMPLOYEE: Final = 21
WRITES: Final = frozenset({"update_customer", "add_customer", "delete_customer"})
SPEAKER: Final = Actor(key="tg:1006", name="Sam", role="lead", bitrix_user_id=6, sees="all", locale="en")
EMPLOYEES: Final = {name: number for number, name in enumerate(_EMPLOYEES.split(), _FIRST_EMPLOYEE)}
Recorded = Sequence[Any]
"""A recorded call: [name, arguments]."""


@dataclass(frozen=True)
class Run:
    """Recorded runs that are the same: by which models, with the verdict of the benchmark's rules on each of the writes."""

    case: Case
    models: Mapping[str, int]
    """How often each model made this run."""
    verdicts: Sequence[str]
    """For each write in order "right", "unwanted" or "inert": without effect in the benchmark."""
    is_right: bool
    """Whether the writes of the run are those of the gold answer."""

    def count(self, verdict: str) -> int:
        """Return how many recorded writes have that verdict, in all of the runs."""
        return self.verdicts.count(verdict) * sum(self.models.values())


@dataclass
class Table:
    """The benchmark's table of customers, as its tools change it."""

    rows: dict[str, dict[str, Any]] = field(default_factory=dict)

    def apply(self, name: str, arguments: Mapping[str, Any]) -> bool:
        """Do what the tool does; returns whether anything changed. What it refuses changes nothing."""
        if name == "delete_customer":
            return self.rows.pop(str(arguments.get("customer_id")), None) is not None
        if name == "add_customer":
            return self._add(arguments)
        row = self.rows.get(str(arguments.get("customer_id")))
        column, value = arguments.get("field"), arguments.get("new_value")
        known = {"status": set(STATUSES["lead"]), "product_interest": set(PRODUCTS.values())}
        if row is None or column not in _COLUMNS or not value or value not in known.get(column, {value}) or row.get(column) == value:
            return False
        row[column] = value
        return True

    def _add(self, arguments: Mapping[str, Any]) -> bool:
        if not all(arguments.get(name) for name in ("customer_name", "assigned_to_email", "status")):
            return False
        self.rows[f"{max(map(int, self.rows)) + 1:08}"] = dict(arguments)
        return True


def load_runs(folder: Path, kind: str) -> tuple[Sequence[Run], Sequence[Case]]:
    """Return (the runs that write, each once; the gold answers in one plan) for customers as records of that kind ("lead" or "deal")."""
    stored = json.loads((folder / "workbench_crm.json").read_text(encoding="utf-8"))
    writer = CallWriter(kind)
    distinct: dict[str, list[Mapping[str, Any]]] = {}
    for run in stored["runs"]:
        if any(name in WRITES for name, _ in run["c"]):
            distinct.setdefault(json.dumps([run["q"], run["c"]], sort_keys=True), []).append(run)
    runs = [_build_run(same, stored, writer) for same in distinct.values()]
    golds = [_build_gold(task, writer) for task in stored["tasks"] if task["gold"]]
    return runs, golds


def _build_run(same: Sequence[Mapping[str, Any]], stored: Mapping[str, Any], writer: "CallWriter") -> Run:
    calls, task = same[0]["c"], stored["tasks"][same[0]["q"]]
    verdicts = list(_judge_writes(calls, task["gold"], stored["customers"]))
    right = [
        writer.write(one) for one, verdict in zip((one for one in calls if one[0] in WRITES), verdicts, strict=True) if verdict == "right"
    ]
    case = Case(name=task["query"], kind="recorded", say=task["query"], answers=[[writer.write_step(one)] for one in calls], gold=right)
    models = [str(run["m"]) for run in same]
    is_right = set(verdicts) <= {"right"} and len(right) == len(task["gold"])
    return Run(case, {name: models.count(name) for name in dict.fromkeys(models)}, verdicts, is_right)


def _judge_writes(calls: Sequence[Recorded], gold: Sequence[Recorded], customers: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    table = Table({number: dict(row) for number, row in customers.items()})
    left = [list(one) for one in gold]
    for name, arguments in calls:
        if name not in WRITES:
            continue
        if not table.apply(name, arguments):
            yield "inert"
        elif [name, arguments] in left:
            left.remove([name, arguments])
            yield "right"
        else:
            yield "unwanted"


def _build_gold(task: Mapping[str, Any], writer: "CallWriter") -> Case:
    steps = [writer.write_step(one) for one in task["gold"]]
    return Case(name=task["query"], kind="gold", say=task["query"], answers=[steps], gold=[writer.write(one) for one in task["gold"]])


class CallWriter:
    """Writes the benchmark's calls as those of Bitrix24, for customers as records of one kind."""

    def __init__(self, kind: str) -> None:
        """Take the kind of records: "lead" or "deal"."""
        self._kind = kind

    def write_step(self, recorded: Recorded) -> dict[str, Any]:
        """Return a recorded call as the model would write it."""
        call = self.write(recorded)
        return {"method": call.method, "params": dict(call.params), "comment": "as asked"}

    def write(self, recorded: Recorded) -> Call:
        """Return a recorded call as one of the portal, with references where a person is named."""
        name, arguments = recorded
        match name:
            case "update_customer":
                column = str(arguments.get("field"))
                fields = self.write_fields({column: arguments.get("new_value")})
                return Call(f"crm.{self._kind}.update", {"id": self._write_id(arguments), "fields": fields})
            case "add_customer":
                return Call(f"crm.{self._kind}.add", {"fields": self.write_fields(arguments)})
            case "delete_customer":
                return Call(f"crm.{self._kind}.delete", {"id": self._write_id(arguments)})
            case "get_customer_information_by_id":
                return Call(f"crm.{self._kind}.get", {"id": self._write_id(arguments)})
        conditions = {f"{sign}{name}": value for sign, fields in self._list_conditions(arguments) for name, value in fields.items()}
        return Call(
            f"crm.{self._kind}.list", {"filter": conditions, "select": ["ID", "TITLE", "ASSIGNED_BY_ID", _STAGE[self._kind], INTEREST]}
        )

    def _list_conditions(self, arguments: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
        for column, value in arguments.items():
            sign = _BOUNDS.get(column[-4:], "")
            yield sign, self.write_fields({column[:-4] if sign else column: value})

    def _write_id(self, arguments: Mapping[str, Any]) -> Any:
        number = str(arguments.get("customer_id"))
        return FIRST + int(number) if number.isdecimal() else number

    def write_fields(self, columns: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of columns as fields of the record."""
        fields: dict[str, Any] = {}
        for column, value in columns.items():
            if value is not None:
                fields |= self._write_field(column, value)
        return fields

    def _write_field(self, column: str, value: Any) -> dict[str, Any]:
        match column:
            case "customer_name":
                return {"TITLE": value}
            case "assigned_to_email":
                return {"ASSIGNED_BY_ID": f"@user:{_name_employee(str(value))}"}
            case "status":
                return {_STAGE[self._kind]: STATUSES[self._kind].get(str(value), f"@stage:{value}")}
            case "product_interest":
                numbers = {title: number for number, title in PRODUCTS.items()}
                return {INTEREST: numbers.get(value, f"@option:{value}")}
            case "last_contact_date" | "follow_up_by":
                return {CONTACTED if column == "last_contact_date" else FOLLOW_UP: str(value)[:10]}
            case "customer_email" | "customer_phone":
                return {column.removeprefix("customer_").upper(): [{"VALUE": value, "VALUE_TYPE": "WORK"}]}
            case "notes":
                return {"COMMENTS": value}
        return {column.upper(): value}


def _name_employee(address: str) -> str:
    return address.partition("@")[0].replace(".", " ").title()


def write_seed(folder: Path, kind: str, path: Path) -> None:
    """Write the seed file of a portal whose only leads or deals are the customers, with twenty employees and stages by the same names."""
    stored = json.loads((folder / "workbench_crm.json").read_text(encoding="utf-8"))
    codes = {code: name for name, code in STATUSES[kind].items()}
    stages = [{"ID": number, "NAME": codes[code]} for number, (code, *_) in enumerate(*_STAGES[kind]) if code in codes]
    users = [
        {"ID": number, "NAME": name.split(".")[0].title(), "LAST_NAME": name.split(".")[1].title(), "EMAIL": f"{name}@atlas.com"}
        | {"ACTIVE": True, "USER_TYPE": "employee", "UF_DEPARTMENT": [3], "TIME_ZONE": "", "IS_ADMIN": False, "WORK_POSITION": "Sales"}
        for name, number in EMPLOYEES.items()
    ]
    fields = [
        {"kind": kind, "name": INTEREST, "type": "enumeration", "title": "Product interest", "choices": PRODUCTS},
        {"kind": kind, "name": CONTACTED, "type": "date", "title": "Last contact"},
        {"kind": kind, "name": FOLLOW_UP, "type": "date", "title": "Follow up by"},
    ]
    records = [_build_record(int(number), row, kind) for number, row in stored["customers"].items()]
    seed = {"fields": fields, "clear": [kind], "records": {"user": users, "status": stages, kind: records}}
    path.write_text(json.dumps(seed), encoding="utf-8")


def _build_record(number: int, row: Mapping[str, Any], kind: str) -> dict[str, Any]:
    fields = CallWriter(kind).write_fields(
        {key: value for key, value in row.items() if key not in {"assigned_to_email", "customer_email", "customer_phone"}}
    )
    fields |= {"ID": FIRST + number, "ASSIGNED_BY_ID": EMPLOYEES[str(row["assigned_to_email"]).partition("@")[0]], "OPPORTUNITY": 0.0}
    if kind == "lead":
        fields |= {name: [row[key]] for name, key in (("EMAIL", "customer_email"), ("PHONE", "customer_phone")) if row[key]}
    return fields


def build_stage(seed: Path) -> Stage:
    """Return the stage of the replays: a lead of the team who sees all, in English, no cap of writes, deletion opened, twenty answers a turn."""
    means = {f"@user:{_name_employee(name)}": number for name, number in EMPLOYEES.items()}
    policy = {"sum_jump": 10, "caps": {"writes_per_day": None}, "open_methods": ["crm.lead.delete", "crm.deal.delete"]}
    return Stage(
        means=means,
        policy=policy,
        settings={"agent_max_iterations": 20},
        portal=Settings(bucket=None, clock=clock, seed_file=seed),
        people={"manager": SPEAKER},
    )
