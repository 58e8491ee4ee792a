"""Supervisor: starts gate, recorder, learner and actor, keeps them alive, and leads them to an end.

It touches neither robot nor rows: it may die at any moment. Then the others lay the robot down and
end by themselves, and whoever starts a supervisor on the same folder goes on with all of it. Only
where the gate is dead does it speak in its place: limp, whenever that happens and at every end.
"""

import contextlib
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from ursa.claim import Claim
from ursa.gate import link as linking
from ursa.gate import mailbox
from ursa.gate.modes import SERVO_MODES, Mode, Order
from ursa.live import child, conduct, gating, orphans, settings
from ursa.live import contact as contacts
from ursa.live import memory as memories
from ursa.live import notice as notices
from ursa.live.boxes import Boxes, Say
from ursa.live.conduct import Given
from ursa.live.contact import Contact
from ursa.live.diary import Diary
from ursa.live.gatekeeper import Gatekeeper
from ursa.live.keys import Keys
from ursa.live.memory import Memory
from ursa.live.notice import Notice
from ursa.live.outlet import READING, Outlet, unfailing, write_all
from ursa.live.ready import LOCK
from ursa.live.settings import ROLES, Live
from ursa.live.ward import PAUSE, Ward
from ursa.log import store
from ursa.shared import clock as clocks
from ursa.shared import place, pulse
from ursa.shared.sleepers import Sleepers

DONE, GAVE_UP, INTERRUPTED = 0, 1, 130
LEAVING = gating.LONGEST_END + 5.0  # s for a gate to leave when all else has failed
EARLY = ("gate", "recorder")  # the others need the ring that the recorder makes
SOON = 2.0  # s at an end for one that has not come to its work yet: it has nothing to save


class Supervisor:
    """The processes of one run, and the conversation with its gate."""

    def __init__(
        self, folder: Path, live: Live, claim: Claim, say: Say, keys: Keys | None = None
    ) -> None:
        """`claim` is that of the folder, and is given back at the end. Nothing is started yet."""
        self._say = say = unfailing(say)
        self.folder, self.live = folder, live
        self._limits, self._claim = live.gate_limits(), claim
        self._keys, self._robot = keys or Keys(None), linking.address(live.link)
        with contextlib.ExitStack() as stack:
            stack.callback(self._claim.close)
            pulse.create(folder, "supervisor")
            orphans.leave(folder, live, say)
            gating.create(folder, live)
            self._pulse = pulse.Pulse(folder, "supervisor")
            self._orders = mailbox.Orderer(folder, "supervisor")
            self._pressed = mailbox.Orderer(folder, "keys")
            self._ears, self._wishes = mailbox.Listener(folder), mailbox.Wishes(folder)
            self._sleepers = Sleepers(live.clock)
            self._gatekeeper = Gatekeeper(folder, live, say, self._sleepers.of("gate"))
            self.wards = {"gate": self._gatekeeper.ward} | {
                role: Ward(folder, live, role, say, self._sleepers.of(role))
                for role in ROLES
                if role != "gate"
            }
            self.diary = Diary(folder)
            self._ring = store.ring_of(folder)  # found once: its name is in a file on a disk
            self._memory = Memory(folder, self._robot)
            self._keys.listen(self._pressed.order, self._say)
            stack.pop_all()
        self._given, self._unheeded, self._passed_on = Given(), "", ""
        self.notice = Notice(due=live.acknowledge == "operator")  # nobody is near an emulator
        self._boxes = Boxes(folder, say)
        self._contact, self._noticed = Contact(real=time.monotonic()), False
        self.last_rows = self.last_updates = 0  # at the end

    @property
    def told(self) -> mailbox.Told | None:
        """What the gate said last."""
        return self._ears.newest()

    @property
    def rows(self) -> int:
        """On disk."""
        return self.progress("recorder")

    def progress(self, role: str) -> int:
        beat = self.wards[role].beat
        return 0 if beat is None else beat.progress

    @property
    def asked(self) -> str:
        """What somebody is asked to do by those who cannot say it themselves; "": nothing."""
        for role, word in (("actor", "asks"), ("recorder", "low")):
            beat = self.wards[role].beat
            if beat is not None and beat.said.get(word):
                return str(beat.said[word])
        return ""

    @property
    def restarts(self) -> int:
        return sum(ward.backoff.total for ward in self.wards.values())

    def order(self, order: Order) -> int:
        """Give the gate an order; returns its number."""
        return self._orders.order(order)

    def run(self, stop: Callable[[], bool], show: Callable[["Supervisor"], None]) -> int:
        """Until enough rows are on disk, somebody asks for the end, or it is hopeless."""
        try:
            code = self._attend(stop, show)
            show(self)
            ended = self.end(done=code == DONE)
        except BaseException:  # a defect, or a second Ctrl-C: the robot must be limp all the same
            self._abandon()
            raise
        return code if ended or code else GAVE_UP

    def _attend(self, stop: Callable[[], bool], show: Callable[["Supervisor"], None]) -> int:
        while True:
            if stop():
                self._say("ending in order: it lies down, all is saved; once more to end at once")
                return INTERRUPTED
            if self.live.rows and self.rows >= self.live.rows:
                return DONE
            if not self.look() or not self._in_touch():
                return GAVE_UP
            show(self)
            time.sleep(PAUSE)

    def look(self) -> bool:
        """One look at everything; False: a role cannot be kept alive, or the memory of the run is
        gone, where whoever is started would find nobody. It waits for no disk."""
        if missing := self._memory.missing():
            self._say(f"{memories.words(missing)}. Then: ursa robot train --resume {self.folder}")
            return False
        there, gate = self._ring.exists(), self.wards["gate"]
        deaths, hopeful = gate.backoff.total, [self._gatekeeper.look()]
        if gate.backoff.total > deaths:  # before a look at the others, who may take their time
            self._boxes.begin("the gate ended")
        others = [ward for role, ward in self.wards.items() if there or role in EARLY]
        for ward in others:
            if ward is not gate:
                hopeful.append(ward.look())
            self._beat()  # each time: one that is killed, and held fast by a disk, takes a second
        self._converse(rest=False)
        return all(hopeful)

    def _beat(self) -> None:
        """Still here: a gate whose supervisor is silent lays the robot down."""
        self._pulse.beat(self.rows, restarts=self.restarts)

    def _in_touch(self) -> bool:
        """Whether the robot answers, or may still do so; a long silence is told once."""
        now, told, live = time.monotonic(), self.told, self.live
        stands = live.virtual and clocks.kept(clocks.path_of(live.clock))
        self._contact = contacts.looked(self._contact, now, told, stands=stands)
        silent = contacts.silence(self._contact, now, told, virtual=live.virtual)
        if silent > live.silence:
            beat, deaths = self.wards["gate"].beat, self.wards["gate"].backoff.total
            unsent = 0 if beat is None else int(beat.said.get("unsent", 0))
            self._say(contacts.given_up(live, self._robot, self.folder, silent, deaths, unsent))
            return False
        if self._noticed is not (silent > contacts.NOTICE):
            self._noticed = not self._noticed
            self._say(
                contacts.waiting(live, silent) if self._noticed else "the robot answers again"
            )
        return True

    def _converse(self, *, rest: bool) -> None:
        """Hear the gate, write down what it did, order what is next."""
        told = self.told
        self.diary.write(told)
        if told is None:
            return
        if self._boxes.due(told):
            what = "FAULT" if told.mode is Mode.FAULT else "LIMP"
            self._say(f"{what}: {told.fault}" + self._way_out(told))
            self._boxes.begin(told.fault)
        self._tell_refusals()
        self._pass_on()
        order = conduct.next_order(
            self._limits,
            told,
            self._wishes.newest(),
            self._given,
            rest=rest,
            by_itself=self.live.acknowledge == "emulator",
        )
        announced = self.notice.since
        self.notice, order = notices.held(self.notice, order, told)
        if self.notice.left and self.notice.since != announced:
            self._say(notices.words(self.notice))
        if order is not None:
            self._given = Given(order=order, time=told.now)
            self.order(order)

    def _tell_refusals(self) -> None:
        """A person who acknowledged hears why nothing came of it; the program's own, once each."""
        for said in self.diary.unheeded:
            if self.live.acknowledge == "operator" or said != self._unheeded:
                self._unheeded = said
                self._say(said)

    def _pass_on(self) -> None:
        """What actor or recorder ask for, once each time."""
        before, self._passed_on = self._passed_on, self.asked
        if self._passed_on.partition(" ")[0] not in ("", before.partition(" ")[0]):
            self._say(self._passed_on)

    def _way_out(self, told: mailbox.Told) -> str:
        if self.live.acknowledge == "emulator" and not conduct.stopped_by_hand(told):
            return ""
        here = "presses `a` twice here, or says " if self._keys.present else "says "
        return (
            f"\n  the robot is limp until somebody looks at it and {here}"
            f"ursa robot stop {self.folder} --acknowledge"
        )

    def end(self, *, done: bool = False) -> bool:
        """Lie down, end the actor, flush, save, end the gate; whether all went in order.

        `done`: nobody will go on with it, so a learner that is just starting gets its time, too.
        """
        patience = self.live.patience.end
        wards = self.wards
        self._gatekeeper.last_word()
        self._until(lambda: self._limp() or wards["gate"].ended(), patience, rest=True)
        self._finish(["actor"], patience, ["actor"])
        self.revive_recorder(patience)
        idle = self._finish(["recorder", "learner"], patience, [] if done else ["learner"])
        self._finish(["gate"], patience)
        self._gatekeeper.last_word()
        orderly = not any(wards[each].code for each in ("recorder", "learner") if each not in idle)
        self.diary.write(self.told, last=True)
        self.last_rows, self.last_updates = self.rows, self.progress("learner")
        told = self.told
        if orderly and not (told and told.fault):  # what waits for a person still waits
            place.forget(self.folder)  # while the folder is ours: the next start may come at once
        self.close()
        return orderly

    def revive_recorder(self, patience: float) -> None:
        """A recorder that is dead just now has rows left to put on disk before the end."""
        recorder = self.wards["recorder"]
        if recorder.ended() and self._ring.exists():
            recorder.start()
            last = recorder.beat
            self._until(lambda: recorder.beat != last or recorder.ended(), patience, rest=True)

    def _limp(self) -> bool:
        told = self.told
        return told is None or told.mode not in SERVO_MODES

    def _finish(self, roles: list[str], patience: float, soon: Sequence[str] = ()) -> set[str]:
        """Ask some to end and wait for it; who takes too long is killed, and of `soon` who has not
        come to its work yet after a moment: returns those."""
        chosen = [self.wards[role] for role in roles]
        for ward in chosen:
            ward.ask()
        idle = [ward for ward in chosen if ward.role in soon and not ward.working()]
        self._until(lambda: all(ward.ended() for ward in idle), min(SOON, patience), rest=True)
        idle = [ward for ward in idle if not ward.working()]
        for ward in idle:
            if not ward.ended():
                self._say(f"{ward.role} was only starting, and was ended")
                ward.kill()
        self._until(lambda: all(ward.ended() for ward in chosen), patience, rest=True)
        for ward in chosen:
            if not ward.ended():
                self._say(f"{ward.role} did not end within {patience:g} s and was killed")
                ward.kill()
        return {ward.role for ward in idle if ward.ended()}

    def _until(self, true: Callable[[], bool], patience: float, *, rest: bool) -> None:
        begun = time.monotonic()
        while not true() and time.monotonic() - begun < patience:
            self._gatekeeper.last_word()
            self._converse(rest=rest)
            self._beat()
            time.sleep(PAUSE)

    def _abandon(self) -> None:
        """Leave everything to itself but the robot. The others notice when this process is gone."""
        self._gatekeeper.end(LEAVING)
        self._keys.close()
        self._say("ended in disorder: the robot was laid down first")
        self._boxes.settle()

    def close(self) -> None:
        """Let go of the folder. Children that still live notice when this process is gone."""
        self._keys.close()
        mouths = (self._pulse, self._orders, self._pressed)
        for each in (*mouths, self._ears, self._wishes, self._sleepers):
            each.close()
        for ward in self.wards.values():
            ward.close()
        self.diary.close()
        self._boxes.settle()
        self._claim.close()


def pid_of(folder: Path) -> int | None:
    """The process that supervises a run now, or None."""
    try:
        Claim(folder / LOCK, folder).close()
    except Exception:
        beat = pulse.last(folder, "supervisor") if place.begun(folder) else None
        return None if beat is None or not _alive(beat.pid) else beat.pid
    return None


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def main(folder: Path) -> int:
    """Supervise the run in a folder as its settings say; Ctrl-C or SIGTERM ends it in order."""
    ending = child.Ending()
    live = settings.read(folder)
    claim = Claim(folder / LOCK, folder)
    out = Outlet(lambda it: write_all(1, f"ursa: {it}\n".encode()), "words")
    with contextlib.closing(linking.reserved(linking.address(live.link))):
        supervisor = Supervisor(folder, live, claim, out.put)
        try:
            return supervisor.run(lambda: ending.asked, lambda _: None)
        finally:
            out.close(READING)


if __name__ == "__main__":
    child.enter(main)
