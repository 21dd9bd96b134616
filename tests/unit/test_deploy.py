"""What deploy/ promises, as far as it can be tried without Docker and without systemd as the first process."""

import configparser
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from bot.settings.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
UNITS = ("sdelka.service", "sdelka-backup.service", "sdelka-backup.timer")
NAMES = {name.upper() for name in Settings.model_fields}
OF_PYTHON = {"PATH", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "PIP_DISABLE_PIP_VERSION_CHECK", "PIP_NO_CACHE_DIR"}


def instructions() -> list[tuple[str, str]]:
    """(word, rest) of each instruction of the Dockerfile, continued lines joined."""
    text = (DEPLOY / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(word, rest.strip()) for word, _, rest in (line.partition(" ") for line in lines)]


def copied() -> list[tuple[str, str]]:
    """(source, target) of everything that comes from the repository."""
    return [
        (source, target) for word, rest in instructions() if word == "COPY" and "--from" not in rest for source, target in [rest.split()]
    ]


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folders of the image as the COPY lines make them, from what Dockerfile.dockerignore lets through."""
    root = tmp_path_factory.mktemp("image")
    kept = (DEPLOY / "Dockerfile.dockerignore").read_text(encoding="utf-8").split("\n")
    assert next(line for line in kept if line and not line.startswith("#")) == "*"
    for source, target in copied():
        assert f"!{source}" in kept, f"{source} is copied, and the ignore file keeps it out"
        place = root / target.lstrip("/")
        if (ROOT / source).is_dir():
            shutil.copytree(ROOT / source, place, ignore=lambda folder, names: ignored(Path(folder), names))
        else:
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / source, place)
    return root


def ignored(folder: Path, names: list[str]) -> set[str]:
    """What the last lines of the ignore file keep out."""
    data = {"state", "logs"} if folder == ROOT / "data" else set()
    return data | {name for name in names if name in {"__pycache__", ".env"} or name.endswith(".db")}


def told(command: list[str], *, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run it with nothing of this environment but where programs are."""
    plain = {name: os.environ[name] for name in ("PATH", "PYTHONPYCACHEPREFIX") if name in os.environ} | environment
    return subprocess.run(command, cwd=cwd, env=plain, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.long
def test_the_image_holds_the_bot_and_no_secret(image: Path) -> None:
    """What is copied suffices to put the bot together; nothing of the sandbox, no `.env`, no database."""
    script = "import sys; sys.path.insert(0, 'app'); import bot.composition.bootstrap, bot.cli.doctor.work, state.sql; print(bot.composition.installation.DATA)"
    ran = told([sys.executable, "-P", "-c", script], cwd=image)
    assert ran.returncode == 0, ran.stderr
    assert Path(ran.stdout.strip()) == image / "app" / "data"
    engines = "from bot.plugins.building import load_installed_engines as load; from bot.plugins.loading import list_faults as faults; "
    ran = told([sys.executable, "-c", f"{engines}print(sorted(load().runs), list(faults()))"], cwd=image / "app")
    assert ran.stdout.strip() == "['bulk_changes', 'flow', 'scenario', 'workflow'] []", ran.stderr
    assert told([sys.executable, "-m", "bot", "--help"], cwd=image / "app").returncode == 0
    names = {path.name for path in image.rglob("*")}
    assert names.isdisjoint({".env", "sandbox", "tests", ".git", "sdelka.db"})
    assert {"constitution.md", "policy.yaml", "holidays.yaml", "script.py.mako"} & names >= {
        "constitution.md",
        "policy.yaml",
        "holidays.yaml",
    }


def test_every_word_of_the_dockerfile_is_one_we_know() -> None:
    """Variables are settings or Python's own, no secret among them; it ends as a person without rights, with a health check and exec forms."""
    found = instructions()
    assert {word for word, _ in found} <= {
        "FROM",
        "ENV",
        "COPY",
        "RUN",
        "WORKDIR",
        "USER",
        "VOLUME",
        "EXPOSE",
        "STOPSIGNAL",
        "HEALTHCHECK",
        "ENTRYPOINT",
        "CMD",
    }
    variables = dict(pair.partition("=")[::2] for word, rest in found if word == "ENV" for pair in rest.split())
    assert variables.keys() <= NAMES | OF_PYTHON
    Settings(_env_file=None, **{name.lower(): value for name, value in variables.items() if name in NAMES})  # type: ignore[arg-type]
    last = dict(found)
    assert (last["USER"], last["STOPSIGNAL"], last["ENTRYPOINT"], last["CMD"]) == ("sdelka", "SIGTERM", '["/app/sdelka"]', '["run"]')
    assert last["HEALTHCHECK"].endswith('CMD ["/app/sdelka", "health"]')
    assert any("--require-hashes --no-deps -r /build/requirements.lock" in rest for word, rest in found if word == "RUN")
    assert all(shutil.which(name) for name in ("groupadd", "useradd", "install")) or sys.platform != "linux"


def script_here(tmp_path: Path) -> Path:
    """The image's `sdelka` with this machine's Python and folder."""
    text = (DEPLOY / "sdelka.sh").read_text(encoding="utf-8").replace("/venv/bin/python", sys.executable).replace("cd /app", f"cd {ROOT}")
    path = tmp_path / "sdelka"
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path


@contextmanager
def health_of(status: int) -> Iterator[int]:
    """A server that gives `/healthz` this status; its port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status if self.path == "/healthz" else 404)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.long
def test_the_script_of_the_image(tmp_path: Path) -> None:
    """`health` ends with 0 only while /healthz is answered with success; every other word goes to the bot."""
    script = str(script_here(tmp_path))
    with health_of(200) as port:
        assert told([script, "health"], HTTP_PORT=str(port), METRICS_TOKEN="set").returncode == 0
    with health_of(503) as port:
        assert told([script, "health"], HTTP_PORT=str(port), METRICS_TOKEN="set").returncode != 0
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    assert told([script, "health"], HTTP_PORT=str(port), METRICS_TOKEN="set").returncode != 0
    assert told([script, "health"], HTTP_PORT=str(port)).returncode == 0  # the door is closed, so there is nobody to ask
    helped = told([script, "doctor", "--help"])
    assert (helped.returncode, "--spend" in helped.stdout) == (0, True), helped.stderr


def test_the_compose_file_is_what_the_page_says() -> None:
    """Its variables are settings, secrets come from the env file, the database is waited for, the port is this machine's only."""
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
    bot, database = compose["services"]["bot"], compose["services"]["db"]
    assert set(bot["environment"]) <= NAMES
    assert (DEPLOY / bot["build"]["context"] / bot["build"]["dockerfile"]).resolve() == DEPLOY / "Dockerfile"
    assert bot["env_file"] == "../.env"
    assert bot["depends_on"] == {"db": {"condition": "service_healthy"}}
    assert "pg_isready" in " ".join(database["healthcheck"]["test"])
    assert all(str(port).startswith("127.0.0.1:") for port in bot["ports"])
    assert "ports" not in database
    assert bot["read_only"] is True
    assert {volume.partition(":")[0] for volume in [*bot["volumes"], *database["volumes"]]} - {"./config"} == set(compose["volumes"])
    secrets = re.findall(
        r"(?:PASSWORD|postgresql://sdelka): ?(\S+?)(?: |@|$)", (DEPLOY / "compose.yaml").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert secrets
    assert all(secret.startswith("${POSTGRES_PASSWORD:?") for secret in secrets)
    assert int(bot["stop_grace_period"].removesuffix("s")) > 20


@pytest.mark.long
@pytest.mark.parametrize("name", [unit for unit in UNITS if unit.endswith(".service")])
def test_a_unit_runs_a_command_that_exists(name: str) -> None:
    """The words after `-m bot` are a command with these options; variables are settings; secrets come from a file."""
    parser = configparser.RawConfigParser(strict=False)
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read(DEPLOY / name, encoding="utf-8")
    service = parser["Service"]
    python, *words = shlex.split(service["ExecStart"])
    assert python == "/opt/sdelka/.venv/bin/python"
    assert words[:2] == ["-m", "bot"]
    helped = told([sys.executable, *words[:3], "--help"], PYTHONPATH=str(ROOT))
    assert helped.returncode == 0, helped.stderr
    assert all(word in helped.stdout for word in words[3:] if word.startswith("--"))
    variables = dict(pair.partition("=")[::2] for pair in service["Environment"].split())
    assert variables.keys() <= NAMES | OF_PYTHON
    assert service["EnvironmentFile"] == "/etc/sdelka/sdelka.env"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd-analyze on this machine")
def test_systemd_reads_the_units(tmp_path: Path) -> None:
    """`systemd-analyze verify` has nothing to say, with this machine's Python in the place of the server's."""
    for name in UNITS:
        text = (DEPLOY / name).read_text(encoding="utf-8").replace("/opt/sdelka/.venv/bin/python", sys.executable)
        (tmp_path / name).write_text(text, encoding="utf-8")
    ran = told(["systemd-analyze", "verify", "--man=no", *(str(tmp_path / name) for name in UNITS)])
    assert (ran.returncode, ran.stdout + ran.stderr) == (0, "")
