"""Dialogues of a sales day, played through the real product with the answers of a capable model (CONTRIBUTING.md, "A dialogue")."""
