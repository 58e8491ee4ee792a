"""A gate that beats once and then hangs: `python -m live.stub_lingering FOLDER`."""

import signal
import sys
from pathlib import Path

from ursa.shared import pulse

if __name__ == "__main__":
    beating = pulse.Pulse(Path(sys.argv[1]), "gate")
    beating.beat(1)
    while True:
        signal.pause()
