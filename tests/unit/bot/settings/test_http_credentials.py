"""The secrets of http effects: one host each, never in the file, and every fault of the file is one sentence that names the place."""

from pathlib import Path

import pytest

from bot.cli.doctor.files import check_files
from bot.settings.http_credentials import list_http_secrets, load_http_credentials
from bot.settings.settings import Settings
from orchestrator.domain.errors import SettingsError
from state.clock import SystemClock


def settings(folder: Path, text: str) -> Settings:
    """Settings with this HTTP_CREDENTIALS_FILE."""
    path = folder / "credentials.yaml"
    path.write_text(text, encoding="utf-8")
    return Settings(http_credentials_file=path, _env_file=None)  # type: ignore[call-arg]


def test_a_secret_is_named_by_the_file_and_held_by_a_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both forms of it are masked wherever texts are."""
    monkeypatch.setenv("ERP_TOKEN", "s3cret")
    found = load_http_credentials(settings(tmp_path, "erp: {host: api.example.com, prefix: 'Bearer ', key: ERP_TOKEN}"))

    assert found["erp"].value.get_secret_value() == "Bearer s3cret"
    assert found["erp"].host == "https://api.example.com"
    assert "s3cret" not in repr(found)
    assert list_http_secrets(found) == ("Bearer s3cret", "s3cret")


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("erp: {host: api.example.com, key: MISSING_TOKEN}", "MISSING_TOKEN is not set (MISSING_TOKN is set: was MISSING_TOKEN meant?)"),
        ("erp: {host: api.example.com/path, key: ERP_TOKEN}", "erp.host"),
        ("erp: {host: '*', key: ERP_TOKEN}", "erp.host"),
        ("erp: {host: api.example.com, key: ERP_TOKEN, header: Host}", "erp.header"),
        ("erp: {host: api.example.com, key: ERP_TOKEN, value: x}", "erp.value"),
        ("erp: {host: api.example.com}", "erp.key"),
        ("erp: {host: api.example.com, key: BROKEN_TOKEN}", "BROKEN_TOKEN"),
        ("[1]", "the file"),
        ("erp: {", "line"),
        ("x" * 100_001, "longer"),
    ],
)
def test_a_fault_of_the_file_is_told_with_its_place_and_never_with_a_secret(
    text: str, part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the start, and by the doctor."""
    monkeypatch.setenv("ERP_TOKEN", "s3cret")
    monkeypatch.setenv("MISSING_TOKN", "s3cret")
    monkeypatch.setenv("BROKEN_TOKEN", "s3c\nret")
    made = settings(tmp_path, text)
    with pytest.raises(SettingsError) as error:
        load_http_credentials(made)
    told = [one for one in check_files(made, SystemClock().now().date()) if one.check == "HTTP_CREDENTIALS_FILE"]

    assert part in error.value.reason
    assert "s3c" not in error.value.reason
    assert [error.value.reason in one.says for one in told] == [True]
