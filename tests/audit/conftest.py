"""People to audit."""

import pytest

from tests.audit.insider import write_people


@pytest.fixture
def workplace(tmp_path, monkeypatch):
    """A working directory with a table of 400 people."""
    monkeypatch.chdir(tmp_path)
    write_people()
    return tmp_path
