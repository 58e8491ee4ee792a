"""A process that hangs, and real time that passes only while somebody sleeps."""


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


class Time:
    """Real time: it passes when somebody sleeps."""

    now = 1000.0

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds
