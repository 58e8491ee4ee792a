"""What is offered in the place of a wrong name: the nearest, if one alone is."""

from ursa.errors import UserError, unknown
from ursa.robot.a1 import A1
from ursa.robot.damage import parse


def refused(text: str) -> str:
    try:
        parse(text, A1)
    except UserError as error:
        return str(error)
    raise AssertionError(text)


def test_of_several_that_are_equally_near_none_is_offered():
    # Every upper joint shares six of the eight letters.
    assert refused("XX.upper").endswith("FR.lower, FR.upper")
    assert refused("FX.upper").endswith("FR.lower, FR.upper")  # FL or FR?
    assert refused("FL.uper").endswith("; did you mean FL.upper?")
    assert str(unknown("way", "lef", ["leg", "let"])) == 'unknown way "lef": valid are leg, let'
