"""Film: pictures into a file. PNG is one sheet of them, GIF and MP4 move.

A file appears complete or not at all: it is written beside its place and moved there at the end.
"""

import math
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import UInt8

from ursa.errors import UserError, install

Array = np.ndarray
Picture = UInt8[Array, "height width 3"]
COLUMNS = 3  # pictures side by side on a sheet
GAP = 4  # pixels between them
INK, HALO = (30, 34, 40), (236, 239, 244)  # of captions
LEAST = 6  # pixels of a letter
FULL = 0.95  # of a picture's width, at most, for a line
INSTALL = f"{install('video')}, or apt-get install ffmpeg; .gif and .png need neither"


def check(out: Path) -> None:
    """Refuse a place that cannot be written, before an hour is spent on what should go there."""
    if out.suffix.lower() not in WRITERS:
        valid = ", ".join(WRITERS)
        raise UserError(f'out = "{out}": the end of the name says what to write, want {valid}')
    if out.is_dir() or not out.parent.is_dir():
        what = "is a folder" if out.is_dir() else "lies in a folder that does not exist"
        raise UserError(f'out = "{out}" {what}: name a file in an existing folder')
    if not os.access(out.parent, os.W_OK):
        raise UserError(f'out = "{out}": its folder is not writable')
    if out.suffix.lower() == ".mp4":
        ffmpeg()


def save(pictures: Iterable[Picture], out: Path, fps: float) -> None:
    """Write all pictures to `out`; the end of its name says how."""
    check(out)
    part = out.with_name(f".{out.stem}.part{out.suffix}")
    try:
        WRITERS[out.suffix.lower()](iter(pictures), part, fps)
        part.replace(out)
    finally:
        part.unlink(missing_ok=True)


def sheet(
    pictures: Sequence[Picture], columns: int = COLUMNS
) -> UInt8[Array, "page_height page_width 3"]:
    """The pictures in rows, read like a page, with white between them and in places left over."""
    columns = min(columns, len(pictures))
    rows = math.ceil(len(pictures) / columns)
    height, width = (side + GAP for side in pictures[0].shape[:2])
    page = np.full((rows * height - GAP, columns * width - GAP, 3), 255, np.uint8)
    for number, picture in enumerate(pictures):
        top, left = number // columns * height, number % columns * width
        page[top : top + height - GAP, left : left + width - GAP] = picture
    return page


def captioned(picture: Picture, above: str, below: str = "", size: int | None = None) -> Picture:
    """The picture with lines of text in its upper left corner, and others in its lower left one.

    `size` is the height of a letter's box in pixels; smaller where a line would not fit.
    """
    from PIL import Image, ImageDraw

    image = Image.fromarray(picture)
    height, width = picture.shape[:2]
    most = max(LEAST, height // 18 if size is None else size)
    wide = max(_font(most).getlength(line) for line in (*above.split("\n"), *below.split("\n")))
    letter = max(LEAST, min(most, int(most * FULL * width / max(wide, 1.0))))
    edge, halo = letter // 3, max(1, letter // 10)
    ink = {"fill": INK, "font": _font(letter), "stroke_width": halo, "stroke_fill": HALO}
    draw, spacing = ImageDraw.Draw(image), letter // 6
    draw.multiline_text((edge, edge // 2), above, spacing=spacing, **ink)
    if below:
        place = (edge, height - edge // 2)
        draw.multiline_text(place, below, anchor="ld", spacing=spacing, **ink)
    return np.asarray(image)


@cache
def _font(size: int) -> Any:
    """A font with a minus that is as wide as a plus; Pillow's own has none."""
    import matplotlib
    from PIL import ImageFont

    return ImageFont.truetype(Path(matplotlib.get_data_path(), "fonts/ttf/DejaVuSans.ttf"), size)


def ffmpeg() -> str:
    """Where ffmpeg is: the one the video extra brings, else the system's."""
    found = None
    if find_spec("imageio_ffmpeg") is not None:
        import imageio_ffmpeg

        try:
            found = imageio_ffmpeg.get_ffmpeg_exe()
        except RuntimeError:  # a wheel without its program
            found = None
    found = found or shutil.which("ffmpeg")
    if found is None:
        raise UserError(f"no ffmpeg, and .mp4 needs it: {INSTALL}")
    return found


def _png(pictures: Iterator[Picture], out: Path, fps: float) -> None:
    from PIL import Image

    Image.fromarray(sheet(list(pictures))).save(out)


def _gif(pictures: Iterator[Picture], out: Path, fps: float) -> None:
    from PIL import Image

    first, *others = (Image.fromarray(picture).quantize(128) for picture in pictures)
    first.save(out, save_all=True, append_images=others, duration=round(1000 / fps), loop=0)


def _mp4(pictures: Iterator[Picture], out: Path, fps: float) -> None:
    """Each picture goes to ffmpeg as it is drawn; none is kept."""
    first = next(pictures)
    height, width, _ = first.shape
    incoming = f"-f rawvideo -pix_fmt rgb24 -s {width}x{height} -r {fps} -i -"
    outgoing = "-an -c:v libx264 -preset veryfast -crf 20 -pix_fmt yuv420p -movflags +faststart"
    even = ("-vf", "pad=ceil(iw/2)*2:ceil(ih/2)*2")  # what players understand has even sides
    head = (ffmpeg(), "-y", "-loglevel", "error", *incoming.split())
    with tempfile.TemporaryFile() as said:
        command = (*head, *even, *outgoing.split(), str(out))
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=said
        )
        assert process.stdin is not None
        try:
            for picture in chain((first,), pictures):
                process.stdin.write(np.ascontiguousarray(picture).tobytes())
        except BrokenPipeError:
            pass  # ffmpeg gave up; what it said comes below
        finally:
            _hang_up(process)
        if process.returncode != 0:
            said.seek(0)
            reason = " ".join(said.read().decode(errors="replace").split()) or "no reason given"
            raise UserError(f"ffmpeg could not write {out.name}: {reason}")


def _hang_up(process: subprocess.Popen) -> None:
    """No more pictures: let ffmpeg finish its file."""
    assert process.stdin is not None
    with suppress(BrokenPipeError):
        process.stdin.close()
    process.wait()


WRITERS: Mapping[str, Callable[[Iterator[Picture], Path, float], None]] = {
    ".png": _png,
    ".gif": _gif,
    ".mp4": _mp4,
}
