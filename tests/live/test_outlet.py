"""What is said gets out in order; nobody waits for a reader, and nobody ends for want of one."""

import os
import threading
from contextlib import suppress

from live.stacked import LIMIT
from ursa.live.outlet import Outlet, write_all

SOON = 0.2  # s in which nothing gets out, then it is believed to be stuck


class Sink:
    """Takes one thing for each time that it is opened."""

    def __init__(self):
        self.taken, self._open, self.trouble = [], threading.Semaphore(0), None
        self.entered = threading.Event()

    def open(self, times=10**4):
        self._open.release(times)

    def __call__(self, thing):
        self.entered.set()
        assert self._open.acquire(timeout=LIMIT)
        if self.trouble is not None:
            raise self.trouble
        self.taken.append(thing)


def begun(sink, **more):
    """An outlet whose sink has the thing 0 in its hands."""
    outlet = Outlet(sink, "test", **more)
    outlet.put(0)
    assert sink.entered.wait(LIMIT)
    assert not outlet.settle(SOON)
    return outlet


def test_all_gets_out_in_order_when_somebody_reads():
    sink = Sink()
    outlet = begun(sink)
    for number in range(1, 200):
        outlet.put(number)
    sink.open()
    assert outlet.settle(LIMIT)
    assert sink.taken == list(range(200))
    assert (outlet.lost, outlet.passed_over) == (0, 0)


def test_when_nobody_reads_what_passes_goes_first_the_oldest_before_others_and_all_is_counted():
    sink = Sink()
    outlet = begun(sink, most=4)
    for thing, passing in ((1, True), (2, False), (3, True), (4, False)):
        outlet.put(thing, passing)  # as many as may wait
    outlet.put(5, passing=True)  # 1 goes
    outlet.put(6)  # 3 goes
    assert (outlet.lost, outlet.passed_over) == (0, 2)
    outlet.put(7)  # 5 goes
    outlet.put(8)  # none is left that only passes: 2 goes
    assert (outlet.lost, outlet.passed_over) == (1, 3)
    sink.open()
    assert outlet.settle(LIMIT)
    assert sink.taken == [0, 4, 6, 7, 8]


def test_a_sink_that_fails_costs_what_it_was_given_and_no_more():
    sink = Sink()
    outlet = begun(sink)
    outlet.put(1, passing=True)
    sink.trouble = BrokenPipeError()
    sink.open(2)
    assert outlet.settle(LIMIT)
    assert (sink.taken, outlet.lost, outlet.passed_over) == ([], 1, 1)
    sink.trouble = None
    outlet.put(2)
    sink.open()
    assert outlet.settle(LIMIT)
    assert sink.taken == [2]


def test_a_full_pipe_holds_up_the_thread_alone_and_a_closed_one_nobody():
    ours, theirs = os.pipe()
    outlet = Outlet(lambda data: write_all(theirs, data), "test")
    outlet.put(b"x" * 2**20)  # more than a pipe holds
    assert not outlet.settle(SOON)
    os.close(ours)
    assert outlet.settle(LIMIT)
    assert outlet.lost == 1
    os.close(theirs)


def test_whoever_writes_to_a_full_pipe_by_himself_would_wait():
    """Sabotage."""
    ours, theirs = os.pipe()
    os.set_blocking(theirs, False)
    with suppress(BlockingIOError):
        while True:
            os.write(theirs, b"x" * 2**16)
    thread = threading.Thread(target=write_all, args=(theirs, b"x"), daemon=True)
    thread.start()
    thread.join(SOON)
    assert thread.is_alive()
    os.read(ours, 2**20)
    thread.join(LIMIT)
    assert not thread.is_alive()
    os.close(ours)
    os.close(theirs)
