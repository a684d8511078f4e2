"""The same conditions for every test: steady examples, and a state directory that is not the user's own."""

import pytest
from hypothesis import settings

# The same examples on every run, and no deadline: a busy machine is not a bug.
settings.register_profile("steady", derandomize=True, deadline=None)
settings.load_profile("steady")


@pytest.fixture(autouse=True)
def state_directory(tmp_path_factory, monkeypatch):
    """Receipts seen by a test are kept apart from the user's."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
