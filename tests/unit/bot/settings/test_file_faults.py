"""Whatever file of an administrator is wrong, the start says what is needed in words of ours and never in those of a library."""

from collections.abc import Callable
from pathlib import Path

import pytest

from bot.access.access_file import read_access_file
from bot.settings.http_credentials import load_http_credentials
from bot.settings.model_plan import load_plan
from bot.settings.settings import Settings
from orchestrator.domain.errors import SettingsError
from orchestrator.gate.call.policy import load_policy


def load_models(path: Path) -> object:
    return load_plan(Settings(models_file=path, _env_file=None))  # type: ignore[call-arg]


def load_credentials(path: Path) -> object:
    return load_http_credentials(Settings(http_credentials_file=path, _env_file=None))  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("load", "text", "says"),
    [
        (read_access_file, "[1]", "the file: keys with values are needed"),
        (read_access_file, "persons: []", "persons: no such key; remove it"),
        (read_access_file, "people: {a: b}", "people: a list is needed"),
        (read_access_file, "people: [{telegram_id: x}]", "telegram_id: a whole number is needed; people.0.name: is missing; add it"),
        (
            read_access_file,
            "people: [{telegram_id: 1, name: A, sees: x}]",
            "people.0.sees: one of 'own' or 'all' is needed, or a list is needed",
        ),
        (read_access_file, "people: [{telegram_id: 1, name: A, time_zone: x}]", "people.0.time_zone: no such time zone; write one such as"),
        (load_models, "providers: []", "providers: keys with values are needed"),
        (load_models, "providers: {a: {kind: openia}}", "providers.a.kind: one of 'openai' or 'gigachat' is needed"),
        (load_models, "providers: {A: {kind: openai}}", "providers.A: a text of the form"),
        (load_models, "providers: {a: {kind: openai, parallel: many, modle: x}}", "providers.a.parallel: a whole number is needed"),
        (load_credentials, "[1]", "the file: keys with values are needed"),
        (load_credentials, "erp: {host: api.example.com}", "erp.key: is missing; add it"),
        (load_credentials, "erp: {host: api.example.com, key: K, value: x}", "erp.value: no such key; remove it"),
        (load_policy, "confirm: 5", "line 1: `confirm`: no such key; remove it."),
        (load_policy, "rules: 5", "line 1: `rules`: a list is needed; got 5"),
        (load_policy, "rules: [{role: lead, then: aks, why: w}]", "is needed; got 'aks'. Did you mean 'ask'?"),
        (load_policy, "rules: [{times: many, then: ask, why: w}]", "line 1: `rules.0.times`: a whole number is needed; got 'many'"),
        (load_policy, "rules: [{role: lead, then: ask}]", "`rules.0.why`: is missing; add it"),
    ],
)
def test_a_fault_of_a_file_is_said_in_words_of_ours(load: Callable[[Path], object], text: str, says: str, tmp_path: Path) -> None:
    """Each names the key and what is needed there."""
    path = tmp_path / "file.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SettingsError) as raised:
        load(path)
    assert says in raised.value.reason
    assert not any(words in raised.value.reason for words in ("Input", "Extra inputs", "Field required", "instance", "_File", "should"))
