"""A learner on a disk that is damaged, lost its end, or is full."""

import pytest

from live.lessons import LIVE, Recording, begin, differing, drained, faster, leaves
from ursa import checkpoint
from ursa.errors import UserError
from ursa.live.learning import Learning
from ursa.log.ledger import Refused
from ursa.log.watermark import Journal

pytestmark = pytest.mark.usefixtures("quick")


@pytest.fixture
def folder(tmp_path):
    return begin(tmp_path / "run")


def test_a_damaged_checkpoint_costs_time_and_nothing_else(folder, caplog):
    recording = Recording(folder)
    learning = Learning(folder, LIVE)
    for _ in range(2):
        recording.add(50)
        drained(learning)
        assert learning.save()
    wanted = leaves(learning.student)
    learning.close()
    newest = checkpoint.stored(folder / "checkpoints")[0] / "arrays.safetensors"
    data = bytearray(newest.read_bytes())
    data[len(data) // 2] ^= 4
    newest.write_bytes(bytes(data))
    learning = Learning(folder, LIVE)
    assert differing(wanted, leaves(learning.student)) == []
    assert "set aside" in caplog.text
    learning.close()
    recording.close()


def test_a_log_that_lost_its_end_is_not_taken_for_the_whole(folder):
    recording = Recording(folder)
    recording.add(50)
    learning = Learning(folder, LIVE)
    drained(learning)
    learning.close()
    recording.close()
    for path in folder.glob("steps-*"):
        path.unlink()
    with pytest.raises(UserError, match="ends at step 0, but the learner had seen 50"):
        Learning(folder, LIVE)


def full_disk(monkeypatch, folder, caught):
    """A learner whose disk takes neither rounds nor checkpoints for a while; then it does."""
    recording = Recording(folder)
    recording.add(60)
    learning = Learning(folder, faster(checkpoint=0.0))
    refusals = {"note": 3, "save": 2}

    def refusing(name, act, error):
        def tried(*words, **named):
            if refusals[name]:
                refusals[name] -= 1
                raise error("the disk is full")
            return act(*words, **named)

        return tried

    note = refusing("note", Journal.note, Refused)
    monkeypatch.setattr(Journal, "note", note)
    monkeypatch.setattr(checkpoint, "save", refusing("save", checkpoint.save, UserError))
    monkeypatch.setattr("ursa.live.learning.time.sleep", lambda seconds: None)
    if not caught:
        monkeypatch.setattr("ursa.live.learning.Refused", KeyError)
    looks = iter(range(40))
    try:
        learning.run(lambda: next(looks) == 39)
    finally:
        learning.close()
        recording.close()
    return learning, refusals


def test_a_full_disk_delays_the_learner_and_ends_nothing(monkeypatch, folder):
    learning, refusals = full_disk(monkeypatch, folder, caught=True)
    assert refusals == {"note": 0, "save": 0}
    assert learning.student.updates == 14  # (60 - 32) / 2
    assert checkpoint.stored(folder / "checkpoints")
    monkeypatch.undo()
    again = Learning(folder, LIVE)
    assert differing(leaves(learning.student), leaves(again.student)) == []
    again.close()


def test_a_learner_that_does_not_expect_a_full_disk_dies_of_it(monkeypatch, folder):
    """Sabotage."""
    with pytest.raises(UserError, match="the disk is full"):
        full_disk(monkeypatch, folder, caught=False)
