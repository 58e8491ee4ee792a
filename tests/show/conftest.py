"""Tests that draw need a GL library that only the distribution has."""

import pytest

from ursa.errors import UserError
from ursa.show import gl


@pytest.fixture
def drawing() -> None:
    """Skip, with the fix, where nothing can be drawn."""
    try:
        gl.backend()
    except UserError as error:
        pytest.skip(str(error))
