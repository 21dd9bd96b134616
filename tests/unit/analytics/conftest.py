from pathlib import Path

import pytest

from tests.unit.analytics.analytics_kit import Desk
from tests.unit.analytics.mirror_firm import Firm, build_firm


@pytest.fixture(scope="session")
def firm() -> Firm:
    return build_firm()


@pytest.fixture(scope="session")
def desk(firm: Firm, tmp_path_factory: pytest.TempPathFactory) -> Desk:
    return Desk(firm.write(Path(tmp_path_factory.mktemp("numbers")) / "mirror.sqlite"))
