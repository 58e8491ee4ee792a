"""A supervisor that only starts a gate, to be killed: `python -m live.stub_parent FOLDER KNOWN`."""

import os
import subprocess
import sys

from ursa.live import child

if __name__ == "__main__":
    folder, known = sys.argv[1:]
    told = {child.SUPERVISOR: str(os.getpid())} if known == "known" else {}
    words = [sys.executable, "-m", "ursa.live.gating", folder]
    subprocess.Popen(words, env={**os.environ, **told}, start_new_session=True).wait()
