"""Has a robot stand up, and again whenever its gate took it down; as `ursa robot adapt` does.

`python -m live.stub_standing FOLDER hears|deaf` at a terminal. Deaf: without the keys.
"""

import fcntl
import os
import sys
import termios
from contextlib import contextmanager
from pathlib import Path

from ursa.gate.modes import Mode
from ursa.live import keys, settings, stander


@contextmanager
def no_keys():
    yield keys.Keys(None)


if __name__ == "__main__":
    run, how = Path(sys.argv[1]), sys.argv[2]
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # as a shell would have it: the keys are ours
    if how == "deaf":
        keys.of_terminal = no_keys
    with stander.gated(
        run / "adapt", settings.read(run), lambda said: print(said, flush=True)
    ) as it:
        for time in ("FIRST", "AGAIN"):
            assert it.set_down is not None
            it.set_down(it)
            print(f"STANDS {time}", flush=True)
            while time == "FIRST" and it.told is not None and it.told.mode is Mode.RUN:
                it.idle()
    print("LEFT", flush=True)
