"""Examples in docstrings give what they say."""

import doctest
import importlib
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src"
WITH = sorted(it for it in SOURCE.rglob("*.py") if ">>> " in it.read_text())


@pytest.mark.parametrize("path", WITH, ids=lambda it: str(it.relative_to(SOURCE)))
def test_examples_in_docstrings_give_what_they_say(path):
    name = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
    failed, tried = doctest.testmod(importlib.import_module(name))
    assert tried > 0
    assert failed == 0
