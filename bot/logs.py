"""The program's own log: plain lines on stderr with masked secrets. Apart from `running`, whose imports take seconds. Ring 3."""

import logging

from bitrix.masking import install_log_filter


def set_up_logging(level: str) -> None:
    """Plain lines with masked secrets."""
    logging.basicConfig(level=level, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    install_log_filter()
