"""A stand-in for a language model: an OpenAI-compatible server that follows written rules. Never imported by the product."""

from sandbox.model.app import create_app
from sandbox.model.server import run

__all__ = ["create_app", "run"]
