"""A role that ends at once: with a crash, or with a mistake that a person has to put right."""

import sys

from ursa.errors import UserError
from ursa.live import child


def main(folder):
    if (folder / "mistaken").exists():
        raise UserError("the cable is green: use a red one")
    sys.exit(3)


if __name__ == "__main__":
    child.enter(main)
