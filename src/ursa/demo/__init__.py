"""`ursa demo`: six skills of an agent to look at, then a leg breaks and eight trials help."""

import time
from functools import partial
from pathlib import Path

from ursa import durable
from ursa.demo.refusal import refuse_early
from ursa.run import pretrained as shipped
from ursa.show import gl

USUAL = "a1-forward"


def demo(
    folder: Path | None = None,
    /,
    pretrained: str | None = None,
    seed: int | None = None,
    damage: str = "BL",
    out: Path | None = None,
    gif: bool = False,
) -> int:
    """See what URSA is about, in a minute: six skills, a broken leg, eight trials.

    Loads a trained agent, lets it show six different skills (a picture strip and a video), breaks
    a joint, and finds in eight trials a skill that still works. Prints return and speed before and
    after. Needs no GPU.

      ursa demo
      ursa demo outputs/a1 --damage FR+BL

    Args:
        folder: Where a run was written, or a folder with a published agent.
        pretrained: An agent that comes with ursa; unset, and without a folder, it is a1-forward.
        seed: Which agent, where several were trained; unset is the first.
        damage: What breaks, for example FL.upper, FR+BL, FL.upper:limp or FL:weak=0.5. A joint
            without a kind is frozen at its nominal angle.
        out: Folder for pictures and videos; unset is demo in the run's, or outputs/NAME/demo for
            an agent that comes with ursa. Earlier ones there go, once all new ones are made.
        gif: Videos as GIF, which any page shows; so it is also where there is no ffmpeg.
    """
    said = partial(_say, time.monotonic())
    source = shipped.source(folder, USUAL if folder is None and pretrained is None else pretrained)
    refuse_early(source.agent, damage)
    out = source.out / "demo" if out is None else out
    durable.refuse_unwritable(out)
    said("loading and compiling ...")
    gl.backend()  # before a simulator is imported: one that cannot draw breaks that import
    from ursa.demo.stage import perform  # late: what is refused above needs no JAX

    perform(source.agent, seed, damage, out, gif, said)
    return 0


def _say(start: float, text: str) -> None:
    print(f"[{time.monotonic() - start:4.0f} s] {text}", flush=True)
