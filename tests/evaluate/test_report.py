"""`ursa report`: one page with everything inside, looked at in a real browser without a network."""

import json
import re
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.image import imread

from evaluate.made import made, study, written
from ursa.errors import UserError
from ursa.evaluate import claims_table
from ursa.evaluate import page as page_of
from ursa.evaluate.claims import CLAIMS, filled
from ursa.evaluate.compare import INCOMPLETE, compared
from ursa.evaluate.draw.gallery import FIGURES
from ursa.evaluate.draw.style import LOOKS
from ursa.evaluate.group import grouped
from ursa.evaluate.report import ASYMMETRIES, composed, report

ROLLOUTS = 24
BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
WIDTH, HEIGHT = 1280, 9000


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """A report about three methods at one task and one at the other."""
    folder = tmp_path_factory.mktemp("report")
    found = [*study(2, rollouts=ROLLOUTS), *study(2, task="velocity", rollouts=ROLLOUTS)]
    place = folder / "page" / "report.html"
    assert report(tuple(written(folder / "results", found)), out=place) == 0
    return place


class Parts(HTMLParser):
    """Every address in a page, and whether its elements are closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.addresses, self.open, self.tags = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.addresses += [value for name, value in attrs if name in ("src", "href", "srcset")]
        if tag not in ("meta", "img", "link", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_needs_nothing_but_itself(page):
    text = page.read_text()
    parts = Parts(text)
    assert parts.open == []
    assert parts.addresses
    for address in parts.addresses:
        assert address.startswith(("data:image/png;base64,", "data:application/json;base64,", "#"))
    assert not re.search(r"@import|url\(|<script|<link", text)
    identities = {each.get("id") for _, each in parts.tags}
    assert {it[1:] for it in parts.addresses if it.startswith("#")} <= identities


def test_the_page_holds_every_figure_table_definition_and_asymmetry(page):
    text = page.read_text()
    for plan in FIGURES.values():
        assert plan.about in text
    figures = re.findall(r'<figure id="\w+-(\w+)">', text)
    assert set(figures) == set(FIGURES)
    assert text.count("<img ") == len(figures)
    for title in (
        "Returns after damage",
        "All 9 damages",
        "Velocity tracking",
        "What was measured",
    ):
        assert title in text
    for asymmetry in ASYMMETRIES:
        assert asymmetry.replace("'", "&#x27;") in text
    assert "no unsafe step in 250" in text
    assert "steps_per_update" in text  # the settings
    assert "independent implementation" in text
    assert "skill.feature" not in text.split("Settings that differ")[0]


def test_words_of_a_run_cannot_become_part_of_the_page(tmp_path):
    found = made(rollouts=ROLLOUTS)
    found = replace(found, source=replace(found.source, run="<script>alert(1)</script>"))
    file = tmp_path / "seed_0.json"
    from ursa.evaluate import results

    results.save(replace(found, damages=()), file)
    report((file,), out=tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text()
    assert "<script>" not in text
    assert "&lt;script&gt;" in text


def test_one_run_gets_its_report_in_its_folder_and_nan_is_on_top(tmp_path, capsys):
    found = made(rollouts=ROLLOUTS)
    found.skills.ret[3] = np.nan
    (file,) = written(tmp_path, [replace(found, damages=())])
    assert report((file.parent,)) == INCOMPLETE
    text = (file.parent / "report.html").read_text()
    assert text.index("1 of 24 not finite, the first at [3]") < text.index("What was measured")
    assert "not finite" in capsys.readouterr().out


def test_what_cannot_be_reported_leaves_no_page(tmp_path):
    paths = written(tmp_path, [made(rollouts=16), made("dominic", rollouts=24)])
    with pytest.raises(UserError, match="cannot be compared"):
        report(tuple(paths), out=tmp_path / "r.html")
    with pytest.raises(UserError, match="is a folder"):
        report(tuple(paths[:1]), out=tmp_path)
    assert not list(tmp_path.rglob("*.html"))


# -- in a browser


def browse(tmp_path, *words: str) -> str:
    if BROWSER is None:
        pytest.skip("no Chromium on this machine: apt-get install chromium")
    command = [
        BROWSER,
        "--headless",
        "--no-sandbox",  # tests run as root in containers
        "--disable-gpu",
        "--hide-scrollbars",
        "--host-resolver-rules=MAP * ~NOTFOUND",  # no network
        f"--user-data-dir={tmp_path / 'profile'}",
        f"--window-size={WIDTH},{HEIGHT}",
        *words,
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_browser_shows_every_picture_and_nothing_runs_over_the_edge(page, tmp_path):
    probe = """<script>window.addEventListener("load", () => { document.title = "seen " +
      JSON.stringify({wide: document.documentElement.scrollWidth, window: innerWidth,
      pictures: [...document.images].map(it => it.naturalWidth * (it.width > 200))}) })</script>"""
    copy = tmp_path / "probe.html"
    copy.write_text(page.read_text().replace("</head>", f"{probe}</head>"))
    shown = browse(tmp_path, "--dump-dom", copy.as_uri())
    wide, window, pictures = re.search(
        r'seen \{"wide":(\d+),"window":(\d+),"pictures":\[([\d,]*)\]', shown
    ).groups()
    assert int(wide) <= int(window)
    sizes = [int(it) for it in pictures.split(",")]
    assert len(sizes) == page.read_text().count("<img ")
    assert min(sizes) > 500


NARROW = 1200


def test_the_claims_are_linked_and_fit_into_a_window_of_1200_pixels(tmp_path):
    made_of = compared(grouped([made(rollouts=16)]), tmp_path, ["training"])
    assert "#claims" not in composed([made_of])
    text = composed([made_of], claims_table.html(filled(tmp_path / "nothing")))
    assert text.index('<nav><a href="#claims">claims</a>') < text.index('<h2 id="claims">')
    probe = """<script>window.addEventListener("load", () => { document.title = "seen " +
      JSON.stringify([...document.querySelectorAll("h2#claims ~ .scroll")].map(
      it => [it.querySelectorAll("tr").length, it.scrollWidth, it.clientWidth])) })</script>"""
    copy = tmp_path / "probe.html"
    copy.write_text(text.replace("</head>", f"{probe}</head>"))
    shown = browse(tmp_path, f"--window-size={NARROW},2000", "--dump-dom", copy.as_uri())
    tables = json.loads(re.search(r"seen (\[\[.*?\]\])", shown).group(1))
    assert sum(rows for rows, _, _ in tables) > len(CLAIMS)
    for _, needed, there in tables:
        assert needed <= there < NARROW


def test_words_take_several_lines_and_numbers_one():
    text = page_of.plain_table("t", ["a", "b", "c"], [["x" * 60, "1.0 [0.5, 2.0]", "y " * 30]])
    assert '<td>1.0 [0.5, 2.0]</td><td class="words">y y' in text
    assert '<th scope="col">b</th><th scope="col" class="words">c</th>' in text


def test_a_screenshot_has_content(page, tmp_path):
    picture = tmp_path / "page.png"
    browse(tmp_path, f"--screenshot={picture}", page.as_uri())
    seen = imread(picture)[..., :3]
    assert seen.shape[:2] == (HEIGHT, WIDTH)
    used = (seen.min(axis=2) < 0.7).reshape(90, 100, WIDTH).any(axis=(1, 2))
    assert used.mean() > 0.95  # no part of the page is empty
    for look in LOOKS.values():  # the colours of all three methods, as bars draw them
        near = np.abs(seen - to_rgb(look.color)).max(axis=2) < 0.02
        assert near.sum() > 10_000, look
