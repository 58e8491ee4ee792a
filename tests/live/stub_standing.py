"""Has a robot stand up, and again whenever its gate took it down; as `ursa robot adapt` does.

`python -m live.stub_standing RUN HOW [NAME]` at a terminal; NAME is the folder in RUN, "adapt" if
there is none. HOW is hears, or one of these sabotages. Deaf: without the keys. Unasked: nobody has
to acknowledge before it stands. Silent: nothing of what the gate does is written down.
"""

import fcntl
import os
import sys
import termios
from contextlib import contextmanager
from pathlib import Path

from ursa.gate.modes import Mode
from ursa.live import keys, settings, stander
from ursa.live.scribe import Scribe


@contextmanager
def no_keys():
    yield keys.Keys(None)


def sabotaged(how):
    if how == "deaf":
        keys.of_terminal = no_keys
    elif how == "unasked":
        stander.asking = lambda live: live
    elif how == "silent":
        Scribe._look = lambda self, *arguments: None


if __name__ == "__main__":
    run, how = Path(sys.argv[1]), sys.argv[2]
    place = run / (sys.argv[3] if len(sys.argv) > 3 else "adapt")
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # as a shell would have it: the keys are ours
    sabotaged(how)
    with stander.gated(place, settings.read(run), lambda said: print(said, flush=True)) as it:
        for time in ("FIRST", "AGAIN"):
            assert it.set_down is not None
            it.set_down(it)
            print(f"STANDS {time}", flush=True)
            while time == "FIRST" and it.told is not None and it.told.mode is Mode.RUN:
                it.idle()
    print("LEFT", flush=True)
