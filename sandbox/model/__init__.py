"""The demo model: an OpenAI-compatible HTTP server that answers by written rules in place of a language model.

The product never imports it.
"""

from sandbox.model.app import create_app
from sandbox.model.server import run

__all__ = ["create_app", "run"]
