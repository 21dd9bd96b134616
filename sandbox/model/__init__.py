"""A stand-in for a language model: an OpenAI-compatible server that follows written rules. Never imported by the product."""
