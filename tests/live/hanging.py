"""A process that hangs, and real time that passes only while somebody sleeps."""

import subprocess


class Stopped:
    """A process that neither ends nor beats until it is killed."""

    pid, returncode = 1, None

    def poll(self):
        return self.returncode

    def send_signal(self, number):
        pass

    def terminate(self):
        pass

    def wait(self, seconds=None):
        return self.returncode

    def kill(self):
        self.returncode = -9


class Obedient(Stopped):
    """One that ends in order when it is asked to."""

    def terminate(self):
        self.returncode = 0


class Ended(Stopped):
    """One that ended as soon as it was started."""

    def __init__(self, code):
        self.returncode = code


class Held(Stopped):
    """A process that a broken disk holds fast: killed, it stays."""

    def __init__(self, time):
        self._time = time

    def kill(self):
        pass

    def wait(self, seconds=None):
        if seconds is None:
            raise AssertionError("waits for ever")
        self._time.sleep(seconds)
        raise subprocess.TimeoutExpired("python", seconds)


class Time:
    """Real time: it passes when somebody sleeps."""

    now = 1000.0

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds
