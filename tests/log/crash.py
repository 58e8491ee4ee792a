"""A log's writers on a disk whose power fails: what must be true of whatever is left.

`log.disk` says what is simulated, what is taken from SQLite's documentation, and what only a
pulled plug could show.
"""

from log.disk import Disk, watch
from log.logs import KIND, oracle, oracles, served
from ursa.errors import UserError
from ursa.log.ledger import Ledger


def recorded(patch, root, rng, sabotage=None):
    """A disk that watched a folder while writers worked there, with a protection removed or not."""
    disk = Disk(root)
    watch(patch, disk)
    if sabotage:
        sabotage(patch)
    workload(disk, rng)
    disk.watching = False
    return disk


def workload(disk, rng, cycles=2, commits=6):
    """Writers one after another: some close, some are left as a kill leaves them."""
    for cycle in range(cycles):
        ledger = Ledger(disk.root, KIND)
        for _ in range(commits):
            end = ledger.end + rng.randint(1, 6)
            disk.told = ledger.commit(ledger.end, oracles(ledger.end, end))
            disk.look("told")
        if cycle % 2:
            ledger.close()
        else:
            ledger._leave()
            ledger.close()


def violations(folder, told, total):
    """What is wrong after a crash: records lost, changed or invented, and false alarms."""
    found, faults, end = served(folder)
    wrong = [f"record {n} was acknowledged and is lost" for n in range(told) if n not in found]
    wrong += [f"record {n} is not what was written" for n in found if found[n] != oracle(n)]
    wrong += [f"false alarm: {fault}" for fault in faults]
    return wrong + ([f"ends at {end} of {total}"] if end > total else [])


def opened(folder, told, total):
    """A reader finds what was told; a new writer too, it adds to it, and nothing is lost."""
    if wrong := violations(folder, told, total):
        return wrong
    try:
        ledger = Ledger(folder, KIND)
        if not told <= ledger.end <= total:
            wrong = [f"a new writer begins at {ledger.end}, told {told} of {total}"]
        told = ledger.commit(ledger.end, oracles(ledger.end, ledger.end + 3))
    except UserError as error:
        return [f"a new writer is refused: {error}"]
    ledger._leave()
    ledger.close()
    return wrong + violations(folder, told, told)
