"""Drawing: robots of a scene side by side, as a strip of moments and as a video."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from ursa.demo.label import Label
from ursa.demo.refusal import HEIGHT, WIDTH
from ursa.demo.scene import EVERY, Scene
from ursa.errors import UserError
from ursa.evaluate.crowd import Damages
from ursa.robot.spec import RobotSpec
from ursa.show import film, render

MOMENTS = 3  # of each robot on the strip
LETTER = 0.11  # of a picture's height


def drawn(
    video: Path,
    scene: Scene,
    rows: Sequence[int],
    labels: Sequence[Label],
    damages: Sequence[Damages] | None = None,
) -> None:
    """A strip with a column for each row and moments below each other, and a video of all.

    A line on the floor tells where a robot has been: the camera goes along with it.
    """
    hurts = damages if damages is not None else [()] * len(rows)
    spec = scene.readings[0].spec
    side = camera(spec, [it.joint for broken in hurts for it in broken])
    size = {"width": WIDTH, "height": HEIGHT, "camera": side}
    letter = round(LETTER * HEIGHT)

    def moment(studio: render.Studio, now: int) -> list[render.Picture]:
        past = scene.readings[: now + 1]
        return [
            studio.picture(past[-1], row, damages=broken, path=past)
            for row, broken in zip(rows, hurts, strict=True)
        ]

    def named(pictures: Sequence[render.Picture]) -> list[render.Picture]:
        pairs = zip(pictures, labels, strict=True)
        return [film.captioned(it, label.above, label.below, letter) for it, label in pairs]

    last = len(scene.readings) - 1
    first, *others = (round(it) for it in np.linspace(last / 2, last, MOMENTS))
    with render.Studio(spec, **size, smooth=True) as studio:
        pictures = named(moment(studio, first))  # once in a column is enough
        for now in others:
            later = f"{(now - first) * EVERY * spec.period:.0f} s later"
            left, *right = moment(studio, now)
            pictures += [film.captioned(left, later, size=letter), *right]
    film.save([film.sheet(pictures, columns=len(rows))], video.with_suffix(".png"), 1.0)

    def frames(studio: render.Studio) -> Iterator[render.Picture]:
        for now in range(last + 1):
            yield film.sheet(named(moment(studio, now)))

    with render.Studio(spec, **size) as studio:
        film.save(frames(studio), video, 1 / (EVERY * spec.period))


def camera(spec: RobotSpec, joints: Sequence[int]) -> str:
    """From the side on which most of the broken joints are."""
    left = {leg.name for leg in spec.legs if leg.origin[1] > 0}
    names = [spec.joint_names[joint].partition(".")[0] for joint in joints]
    return "left" if 2 * sum(name in left for name in names) > len(names) else "follow"


def moving() -> str:
    """What a video is written as: GIF where there is no ffmpeg."""
    try:
        film.ffmpeg()
    except UserError:
        return ".gif"
    return ".mp4"
