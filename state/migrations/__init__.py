"""The schema's history (ring 1), run by `state.sql.schema`. A revision that was released is never edited again."""

HEAD = "0004"
"""The newest revision; a test holds it equal to the folder `versions`, so that a start need not load Alembic."""
