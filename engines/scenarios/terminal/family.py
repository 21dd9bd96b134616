"""Files of scenarios: one starts those beside it by the names of their files."""

from typing import Final

from bot.cli.author.faces import Family
from engines.scenarios.core.authoring.references import find_unknown_uses
from engines.scenarios.core.kind import KIND

FAMILY: Final = Family(whole=KIND, find_unknown=find_unknown_uses)
