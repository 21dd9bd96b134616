"""Reading the catalogue: what a file says once for all its rows, and what is an error."""

from pathlib import Path

import pytest

from bitrix.catalogue.catalogue import Catalogue, Method, load_catalogue

FOLDER = Path(__file__).resolve().parents[3] / "data" / "catalogue"
FILE = """
scope: crm
sets:
  list: [select, filter]
methods:
  - {name: crm.a.list, classes: [R], verb: list, params: [$list, start], source: a}
  - {names: [x.b.get, x.c.get], classes: [R], verb: get, scope: task, source: b}
  - {name: crm.d.update, classes: [W], verb: update, idempotent: true, critical: [$list], rare: true, app_only: true, source: d}
"""


def _load(folder: Path, text: str) -> Catalogue:
    (folder / "mine.yaml").write_text(text, encoding="utf-8")
    return load_catalogue(folder)


def test_a_file_says_the_scope_once_and_a_row_may_differ(tmp_path: Path) -> None:
    """The file's scope holds where a row names none; every name of a row gets the row's."""
    rows = {row.name: row for row in _load(tmp_path, FILE)}
    assert {name: row.scope for name, row in rows.items()} == {
        "crm.a.list": "crm",
        "x.b.get": "task",
        "x.c.get": "task",
        "crm.d.update": "crm",
    }
    assert rows["crm.d.update"].app_only
    assert rows["crm.d.update"].rare
    assert not rows["crm.a.list"].app_only
    assert not rows["crm.a.list"].rare


def test_a_set_stands_for_its_names(tmp_path: Path) -> None:
    """$list becomes the names of the file's set, among others."""
    rows = _load(tmp_path, FILE)
    assert rows.find("CRM.A.List") == next(iter(rows))
    assert next(iter(rows)).params == ("select", "filter", "start")
    assert {row.critical for row in rows if row.name == "crm.d.update"} == {("select", "filter")}


def test_reads_may_be_repeated_and_writes_must_say_so(tmp_path: Path) -> None:
    """A read needs no `idempotent`; a write without it does not load."""
    assert all(row.idempotent for row in _load(tmp_path, FILE))
    with pytest.raises(ValueError, match=r"mine\.yaml: row crm\.e\.add"):
        _load(tmp_path, "methods:\n  - {name: crm.e.add, classes: [W], verb: add}\n")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("methods:\n  - {name: x.y, verb: get}\n", r"mine\.yaml: row x\.y"),
        ("methods:\n  - {name: x.y, classes: [], verb: update, idempotent: true}\n", r"mine\.yaml: row x\.y"),
        ("methods:\n  - {name: x.y, classes: [R], verb: get, scop: crm}\n", r"mine\.yaml: row x\.y.*\n.*scop"),
        ("methods:\n  - {name: x.y, classes: [R], verb: get, params: [$lsit]}\n", r"mine\.yaml: row x\.y: params names \$lsit"),
    ],
)
def test_a_broken_row_names_its_file_and_itself(tmp_path: Path, text: str, said: str) -> None:
    """The sentence says where to look."""
    with pytest.raises(ValueError, match=said):
        _load(tmp_path, text)


def test_a_method_listed_twice_is_an_error() -> None:
    """A second row for one method, also in another case, does not load."""
    row = Method(name="CRM.deal.GET", classes=("R",), verb="get", idempotent=True)
    with pytest.raises(ValueError, match="listed twice"):
        load_catalogue(FOLDER, [row.model_dump()])


def test_an_unlisted_method_is_absent() -> None:
    """Nothing is derived from a name that looks like a listed one."""
    listed = load_catalogue(FOLDER)
    assert listed.find("crm.deal.get") is not None
    assert listed.find("crm.deal.gets") is None
    assert len(listed) == len(list(listed))
