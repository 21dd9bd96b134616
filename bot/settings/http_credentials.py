"""HTTP_CREDENTIALS_FILE: secrets that http effects may send, each to one host."""

from collections.abc import Mapping
from typing import Annotated, Final

import yaml
from pydantic import AfterValidator, Field, TypeAdapter, ValidationError

from bot.settings.faults import describe_misspelt
from bot.settings.settings import Settings, read_variable
from orchestrator.domain.errors import SettingsError
from orchestrator.domain.frozen import Frozen
from orchestrator.domain.http_address import HttpCredential, OddSite, parse_listed_site
from orchestrator.domain.value_faults import describe_faults

LARGEST_FILE: Final = 100_000


def _check_host(text: str) -> str:
    try:
        return str(parse_listed_site(text))
    except OddSite as error:
        raise ValueError(str(error)) from None


class CredentialSpec(Frozen):
    """The secret is never in the file: `key` names its variable."""

    host: Annotated[str, AfterValidator(_check_host)]
    """The only host that gets it, as in the policy's `http_hosts`."""
    header: str = Field("Authorization", pattern=r"^(Authorization|[Xx]-[A-Za-z0-9-]{1,60}|[Aa]pi-?[Kk]ey)$")
    prefix: str = Field("", max_length=40, pattern=r"^[ -~]*$")
    """Stands before the secret in the header, such as "Bearer "."""
    key: str = Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,99}$")


_FILE: Final = TypeAdapter(dict[Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,63}$")], CredentialSpec])


def load_http_credentials(settings: Settings) -> Mapping[str, HttpCredential]:
    """{} without a file. Raises SettingsError that says what is wrong and where."""
    path = settings.http_credentials_file
    if path is None:
        return {}
    try:
        text = path.read_text(encoding="utf-8")
        if len(text) > LARGEST_FILE:
            raise SettingsError(f"HTTP_CREDENTIALS_FILE: {path.name} is longer than {LARGEST_FILE} characters")
        content: object = yaml.safe_load(text) or {}
        specs = _FILE.validate_python(content)
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"HTTP_CREDENTIALS_FILE: {path} cannot be read ({type(error).__name__})") from None
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        raise SettingsError(f"HTTP_CREDENTIALS_FILE: {path.name}{f': line {mark.line + 1}' if mark else ''}: it is not YAML") from None
    except ValidationError as error:
        raise SettingsError(f"HTTP_CREDENTIALS_FILE: {path.name}: {describe_faults(error, content)}") from None
    return {name: _build_credential(name, spec) for name, spec in specs.items()}


def _build_credential(name: str, spec: CredentialSpec) -> HttpCredential:
    secret = read_variable(spec.key)
    if secret is None:
        raise SettingsError(f"HTTP_CREDENTIALS_FILE: {name}: the variable {spec.key} is not set{describe_misspelt(spec.key)}")
    value = f"{spec.prefix}{secret.get_secret_value()}"
    if not value.isascii() or not value.isprintable():
        raise SettingsError(f"HTTP_CREDENTIALS_FILE: {name}: the variable {spec.key} holds signs that no header may have")
    return HttpCredential.model_validate({"host": spec.host, "header": spec.header, "value": value})


def list_http_secrets(credentials: Mapping[str, HttpCredential]) -> tuple[str, ...]:
    """With and without what stands before them, to mask both."""
    values = [credential.value.get_secret_value() for credential in credentials.values()]
    return tuple(dict.fromkeys(part for value in values for part in (value, value.rpartition(" ")[2]) if part))
