"""Builds `../../static/canvas/` from `package-lock.json`: the same bytes each time.

Needs Node.js 20 and a registry of its packages, as nothing else of the project does.
"""

import hashlib
import json
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

SOURCE: Final = Path(__file__).parent
TARGET: Final = SOURCE.parents[1] / "static" / "canvas"
_PACKAGE: Final = re.compile(r"node_modules/((?:@[^/]+/)?[^/]+)/")
INPUTS: Final = ("package.json", "package-lock.json", "index.js", "library.css")
BUNDLE: Final = (
    "index.js", "--bundle", "--minify", "--format=esm", "--target=es2022", "--external:vue", "--legal-comments=none",
    '--define:process.env.NODE_ENV="production"', "--define:__VUE_PROD_DEVTOOLS__=false", "--metafile=meta.json", "--outfile=out/index.js",
)  # fmt: skip


def main() -> None:
    """Install what the lock names, bundle it, and write files, licences and digests."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        for name in INPUTS:
            shutil.copy(SOURCE / name, place)
        _run(place, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
        _run(place, "npx", "--no-install", "esbuild", *BUNDLE)
        _run(place, "npx", "--no-install", "esbuild", "library.css", "--bundle", "--minify", "--outfile=out/library.css")
        (place / "out" / "LICENSES.txt").write_text(_join_licences(place), encoding="utf-8")
        TARGET.mkdir(parents=True, exist_ok=True)
        for path in sorted((place / "out").iterdir()):
            shutil.copy(path, TARGET)
    digests = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(TARGET.iterdir())}
    (SOURCE / "digests.json").write_text(json.dumps(digests, indent=2) + "\n", encoding="utf-8")


def _run(place: Path, *words: str) -> None:
    subprocess.run(words, cwd=place, check=True)  # noqa: S603 - fixed words


def _join_licences(place: Path) -> str:
    """Of every package of the bundle and of those it depends on, which some hold in their own files."""
    inputs = json.loads((place / "meta.json").read_text(encoding="utf-8"))["inputs"]
    waiting = {match[1] for name in inputs if (match := _PACKAGE.match(name))}
    parts: dict[str, str] = {}
    while waiting:
        folder = place / "node_modules" / (name := waiting.pop())
        if not folder.exists():
            continue  # inside of the one that depends on it, which says so itself
        about = json.loads((folder / "package.json").read_text(encoding="utf-8"))
        text = next(path for path in sorted(folder.iterdir()) if path.name.upper().startswith("LICEN")).read_text(encoding="utf-8")
        parts[name] = f"{name} {about['version']} ({about['license']})\n\n{text.strip()}\n"
        waiting |= set(about.get("dependencies", ())) - {*parts, "vue"}
    return ("\n" + "-" * 80 + "\n\n").join(parts[name] for name in sorted(parts))


if __name__ == "__main__":
    main()
