"""The run-time type checker of the suite: beartype, with int accepted where float is asked."""

from beartype import BeartypeConf, beartype

typechecked = beartype(conf=BeartypeConf(is_pep484_tower=True))
