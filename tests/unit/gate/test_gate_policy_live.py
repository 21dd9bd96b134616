"""A policy file that changes while the bot runs: taken before the next decision, never half, and a faulty one not at all."""

import os
from pathlib import Path

import pytest

from orchestrator.domain.errors import SettingsError
from orchestrator.features.leads.live_policy import LivePolicy, PolicyChange
from tests.unit.gate.gate_kit import catalogue

OLD = 1_700_000_000


class Files:
    """A policy file, and the two clocks by which it is looked at."""

    def __init__(self, folder: Path, text: str) -> None:
        self.path = folder / "mine.yaml"
        self.seconds, self.wall, self.date = 0.0, OLD + 1000.0, OLD
        self.news: list[PolicyChange] = []
        self.write(text)
        self.live = LivePolicy(self.path, catalogue(), tell=self.news.append, clock=lambda: self.seconds, wall=lambda: self.wall)

    def write(self, text: str, *, date: int | None = None) -> None:
        self.date = self.date + 1 if date is None else date
        self.path.write_text(text, encoding="utf-8")
        os.utime(self.path, (self.date, self.date))

    def after(self, seconds: float) -> frozenset[str]:
        """The refused methods, asked for so much later."""
        self.seconds += seconds
        return self.live.now().refuse_methods


def test_a_changed_file_counts_before_the_next_decision(tmp_path: Path) -> None:
    """Looked at once a second at most; administrators hear of it."""
    files = Files(tmp_path, "refuse_methods: [crm.deal.add]\n")
    first = files.live.now().digest
    files.write("refuse_methods: [crm.lead.add]\n")
    assert files.after(0.5) == {"crm.deal.add"}
    assert files.after(0.6) == {"crm.lead.add"}
    assert files.live.now().digest != first
    assert [(news.faults, news.restart, news.digest) for news in files.news] == [((), False, files.live.now().digest)]


def test_a_faulty_file_changes_nothing_and_is_told_once(tmp_path: Path) -> None:
    """With every mistake; when it is mended, the new rules count."""
    files = Files(tmp_path, "refuse_methods: [crm.deal.add]\n")
    files.write("refuse_methods: [crm.deal.ad]\nask_abov: 5\n")
    assert files.after(2) == {"crm.deal.add"}
    assert files.after(2) == {"crm.deal.add"}
    assert len(files.news) == 1
    assert any("line 2: `ask_abov`" in fault for fault in files.news[0].faults)
    files.write("refuse_methods: [crm.deal.ad]\n")
    assert files.after(2) == {"crm.deal.add"}
    assert "Did you mean 'crm.deal.add'?" in files.news[1].faults[0]
    files.write("refuse_methods: []\n")
    assert files.after(2) == frozenset()


@pytest.mark.parametrize("text", ["a: [", "- x", "rules: 5", "", "# refuse_methods: [crm.deal.add]\n", "null"])
def test_whatever_the_file_becomes_there_is_a_policy(tmp_path: Path, text: str) -> None:
    """Rubbish, a list, a directory, a file cut to nothing by a full disk, no file."""
    files = Files(tmp_path, "refuse_methods: [crm.deal.add]\n")
    files.write(text)
    assert files.after(2) == {"crm.deal.add"}
    files.path.unlink()
    assert files.after(2) == {"crm.deal.add"}
    files.path.mkdir()
    assert files.after(2) == {"crm.deal.add"}
    assert all(news.faults for news in files.news)


def test_a_file_that_is_being_written_is_left_alone(tmp_path: Path) -> None:
    """Half a file may say less than the whole one: it counts a second after its last writing."""
    files = Files(tmp_path, "refuse_methods: [crm.deal.add]\n")
    files.write("refuse_methods: []", date=int(files.wall))
    assert files.after(2) == {"crm.deal.add"}
    files.wall += 1.5
    assert files.after(2) == frozenset()


def test_rows_of_the_catalogue_wait_for_the_next_start(tmp_path: Path) -> None:
    """The rest of such a file counts at once, and the news says so."""
    files = Files(tmp_path, "refuse_methods: [crm.deal.add]\n")
    files.write("refuse_methods: []\ncatalogue:\n  - {name: my.method, classes: [W], verb: action, idempotent: false}\n")
    assert files.after(2) == frozenset()
    assert files.live.now().catalogue == ()
    assert files.news[0].restart


def test_a_file_that_is_faulty_at_the_start_is_an_error(tmp_path: Path) -> None:
    """There is nothing yet that could stay in force."""
    with pytest.raises(SettingsError, match="line 1: `refuse_methods`"):
        Files(tmp_path, "refuse_methods: [crm.deal.ad]\n")


def test_a_file_that_was_only_touched_is_no_news(tmp_path: Path) -> None:
    """Its content counts."""
    files = Files(tmp_path, "refuse_methods: [crm.deal.add]\n")
    files.write("refuse_methods: [crm.deal.add]\n")
    assert files.after(2) == {"crm.deal.add"}
    assert files.news == []
