"""The servers that are killed and crashed here are those of the engines' tests."""

from tests.engines.conftest import mortal_postgres, postgres

__all__ = ["mortal_postgres", "postgres"]
