"""What `tests/conftest.py` promises of every test is so."""

import importlib.util
import sys
import tempfile

from hypothesis import Phase, given, settings
from hypothesis import strategies as st


def examples():
    drawn = []

    @settings(max_examples=300, phases=[Phase.generate])
    @given(st.integers(0, 2**60))
    def draw(number):
        drawn.append(number)

    draw()
    return drawn


def test_the_examples_of_a_property_do_not_depend_on_what_was_imported_before():
    before = examples()
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/constants.py"
        with open(path, "w") as file:
            file.write(f"NUMBERS = {list(range(10**6, 10**6 + 100))}\n")
        spec = importlib.util.spec_from_file_location("constants_of_ours", path)
        module = importlib.util.module_from_spec(spec)
        sys.modules["constants_of_ours"] = module
        spec.loader.exec_module(module)
        try:
            assert examples() == before
        finally:
            del sys.modules["constants_of_ours"]
