"""`python -m ursa`: the same as the `ursa` command."""

from ursa.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
