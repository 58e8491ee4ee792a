"""Figures: their numbers by hand, what is printed on them, and what is never drawn."""

import json
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.image import imread

from evaluate.made import SPEC, made, study
from ursa.errors import UserError
from ursa.evaluate.draw import angles, coverage, damages, evolution, profiles, style, tracking
from ursa.evaluate.draw.gallery import FIGURES, figures
from ursa.evaluate.group import grouped
from ursa.evaluate.statistics import Summary

SEEDS, ROLLOUTS = 3, 24


@pytest.fixture(scope="module")
def groups():
    return grouped(study(SEEDS, rollouts=ROLLOUTS))


@pytest.fixture(scope="module")
def gallery(groups, tmp_path_factory):
    folder = tmp_path_factory.mktemp("figures")
    return figures(groups, folder)


@pytest.fixture(scope="module")
def followed():
    return grouped(study(SEEDS, task="velocity", rollouts=ROLLOUTS))


@pytest.fixture(scope="module")
def shown(groups, followed):
    """Numbers and figure by name, each drawn once."""
    known = {}

    def of(name):
        if name not in known:
            numbers = FIGURES[name].numbers(followed if name == "tracking" else groups)
            known[name] = numbers, FIGURES[name].draw(numbers)
        return known[name]

    return of


def drawn(name, groups, **options):
    plan = FIGURES[name]
    return plan.draw(plan.numbers(groups), **options)


def printed(figure) -> str:
    """All words on a figure, in one line."""
    parts = [figure, *getattr(figure, "subfigs", [])]
    words = [part._suptitle.get_text() for part in parts if part._suptitle]
    words += [figure._supxlabel.get_text()]
    words += [it.get_text() for legend in figure.legends for it in legend.get_texts()]
    for axes in figure.get_axes():
        words += [axes.get_title(loc="left"), axes.get_title(), axes.get_xlabel()]
        words += [axes.get_ylabel()]
        if axes.get_legend():
            words += [it.get_text() for it in axes.get_legend().get_texts()]
    return " ".join(" ".join(words).split())


def test_every_figure_leaves_a_picture_a_print_and_its_numbers(gallery):
    assert {it.name for it in gallery.drawn} == set(FIGURES) - {"tracking"}
    assert gallery.absent == ("tracking",)
    assert gallery.complaints == ()
    for it in gallery.drawn:
        assert imread(it.png).std() > 0.05
        assert it.png.with_suffix(".pdf").read_bytes().startswith(b"%PDF")
        assert json.loads(it.png.with_suffix(".json").read_text()) == it.numbers


AXES = {  # what each figure must call its axes, with units where there are any
    "repertoire": ("skill, first column", "skill, second column", "return over 250 steps"),
    "angles": ("FR.hip", "BL.lower", "rad"),
    "coverage": ("cells filled, % of 18 planes", "URSA"),
    "profiles": ("share of all skills", "whitened distance", "return over 250 steps"),
    "value": ("250 V(s₀, z)", "measured return over 250 steps"),
    "damages": ("return over 250 steps", "URSA + ITE"),
    "evolution": ("return", "trial", "FR+BL"),
    "training": ("control steps", "reward per step"),
    "ccdf": ("τ, return over 250 steps", "share of 9 damages above τ"),
    "tracking": ("forward speed v*, m/s", "yaw rate ω*, rad/s", "error of v, m/s"),
}


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_says_n_estimator_interval_and_units(name, shown):
    numbers, figure = shown(name)
    words = printed(figure)
    assert FIGURES[name].title in words
    for label, n in numbers["n"].items():
        assert f"{label} {n}" in words
    for part in ("estimator", "interval", "robot", "task", "physics"):
        assert numbers[part] in words
    assert f"{numbers['physics']}; 1,000,000 steps of 32 robots" in words
    for axis in AXES[name]:
        assert axis in words


@pytest.mark.parametrize("wide", [7.5, 11])
def test_small_print_full_of_numbers_is_not_wider_than_the_picture(wide, groups):
    numbers = style.heading("any", groups, "median", "quartiles")
    long = "; ".join(["DOMiNiC 2.83 [2.80, 2.96]"] * 30)
    figure = style.finish(style.page(wide, 4), numbers, "title", long)
    figure.set_dpi(style.DPI)
    small = figure._supxlabel.get_window_extent(FigureCanvasAgg(figure).get_renderer())
    assert 0.85 * figure.bbox.x1 < small.x1 < figure.bbox.x1


def test_a_figure_is_drawn_from_its_numbers_alone_and_twice_the_same(groups, tmp_path):
    numbers = damages.numbers(groups)
    read = json.loads(json.dumps(numbers))
    first = style.save(damages.draw(numbers), numbers, tmp_path / "a", "damages")
    second = style.save(damages.draw(read), read, tmp_path / "b", "damages")
    assert [one.read_bytes() for one in first] == [other.read_bytes() for other in second]


def test_the_methods_of_the_paper_differ_in_grey():
    grey = sorted(np.dot(to_rgb(it.color), (0.299, 0.587, 0.114)) for it in style.LOOKS.values())
    assert np.diff(grey).min() > 0.2
    assert len({it.marker for it in (*style.LOOKS.values(), *style.OTHERS)}) == 7


def test_bars_are_medians_with_quartiles_over_seeds():
    five = [made("dominic", seed, rollouts=ROLLOUTS) for seed in range(5)]
    for each, again in zip(five, (3.0, 1, 4, 1, 5), strict=True):
        each.damages[1].again[:] = [again - 1, again, again + 1, again, again]
        each.damages[1].trial_ret[:] = again
        each.damages[1].trial_ret[2] = again + 10
    (series,) = damages.numbers(grouped(five))["series"]
    assert Summary(**series["again"]["FR.upper"]) == Summary(5, 3.0, 1.0, 4.0)
    assert Summary(**series["trials"]["FR.upper"]) == Summary(5, 13.0, 11.0, 14.0)


def test_a_method_with_one_skill_is_counted_by_the_mean_of_its_trials():
    one = made("daydreamer", rollouts=ROLLOUTS)
    one.damages[1].trial_ret[:] = [1, 1, 1, 1, 1, 1, 1, 9]
    (series,) = damages.numbers(grouped([one]))["series"]
    assert series["trials"]["FR.upper"]["middle"] == 2.0
    assert series["label"] == "DayDreamer"


def test_the_oracle_is_hatched_and_belongs_to_who_could_not_try_everything(groups):
    numbers = damages.numbers(groups)
    assert [it["label"] for it in numbers["series"] if it["oracle"]] == [
        f"URSA, best of all {ROLLOUTS} skills (oracle)"
    ]
    hatched = [bar.get_hatch() for bar in damages.draw(numbers).get_axes()[0].patches]
    assert sum(hatch is not None for hatch in hatched) == 10  # nine damages and undamaged
    assert len(hatched) == 4 * 10


def test_a_bar_of_one_seed_is_drawn_only_when_asked():
    alone = grouped(study(1, rollouts=ROLLOUTS))
    for name in ("damages", "coverage"):
        without, asked = (drawn(name, alone, one_seed=flag) for flag in (False, True))
        assert not without.get_axes()[0].patches
        assert asked.get_axes()[0].patches
        assert "one seed, no bar" in printed(without)
        assert "one seed has no interval" in printed(without)
        assert not asked.get_axes()[0].containers[0].errorbar


def test_nan_is_written_in_the_place_of_a_bar_and_told():
    found = study(2, rollouts=ROLLOUTS)
    found[3].damages[2].again[4] = np.nan
    numbers = damages.numbers(grouped(found))
    assert numbers["complaints"] == [
        "a1-forward-dominic, seed 1, FL.upper: 1 of 5 returns of fresh rollouts are not finite"
    ]
    dominic = next(it for it in numbers["series"] if it["label"] == "DOMiNiC")
    assert dominic["again"]["FL.upper"] is None
    assert dominic["trials"]["FL.upper"] is not None
    assert numbers["wins"]["FL.upper"] is None
    written = [it.get_text() for it in damages.draw(numbers).get_axes()[1].texts]
    assert written.count("NaN") == 1


def test_a_figure_that_would_average_nan_is_not_drawn_and_the_others_are(tmp_path):
    found = study(2, rollouts=ROLLOUTS)
    found[1].skills.ret[7] = np.nan
    gallery = figures(grouped(found), tmp_path, ["repertoire", "profiles", "coverage"])
    assert [it.name for it in gallery.drawn] == ["repertoire", "coverage"]
    assert gallery.complaints == (
        f"URSA, seed 1: 1 of {ROLLOUTS} measured are not finite",
        f"figure profiles is not drawn: a1-forward-ursa, seed 1: returns: 1 of {ROLLOUTS} not "
        "finite, the first at [7]; not averaged",
    )
    assert not (tmp_path / "profiles.png").exists()


MIDDLE = {"angles", "ccdf", "evolution", "profiles", "training", "value"}


@pytest.mark.parametrize("name", sorted(MIDDLE))
def test_interquartile_means_stand_beside_the_medians(name, shown):
    numbers, figure = shown(name)
    found = numbers["iqm"]
    assert set(found["by"]) <= {*numbers["n"], "URSA + ITE"}
    for it in found["by"].values():
        assert it["n"] == SEEDS
        assert it["low"] <= it["middle"] <= it["high"]
    words = printed(figure)
    assert f"{found['of']}: interquartile mean [95 % stratified bootstrap]" in words
    for label, it in found["by"].items():
        assert f"{label} {Summary(**it).said(scale=found['scale'])}" in words


def test_interquartile_means_by_hand():
    # Four seeds: the middle half of 0.1, 0.3, 0.5 and 4 is 0.3 and 0.5.
    four = [made(task="velocity", seed=seed, rollouts=ROLLOUTS) for seed in range(4)]
    missed = []
    for each, off in zip(four, (0.1, 0.3, 0.5, 4.0), strict=True):
        asked = each.tracking
        late = asked.command[:, None] + np.array([off, 0.0]) + np.zeros((1, 3, 1))
        near = np.ones(len(asked.command), bool)
        tracked = replace(asked, late=late, whole=late, reachable=near)
        missed.append(replace(each, tracking=tracked, ruler=np.eye(2)))
    numbers = tracking.numbers(grouped(missed))
    assert numbers["iqm"]["by"]["URSA"]["middle"] == pytest.approx(0.4)
    assert numbers["series"][0]["late"]["joint"]["middle"] == pytest.approx(0.4)
    assert "whitened error, the last 200 steps: interquartile mean" in printed(
        tracking.draw(numbers)
    )


def test_evolution_shows_the_best_so_far():
    one = made("dominic", rollouts=ROLLOUTS)
    one.damages[1].trial_ret[:] = [2, 1, 5, 3, 5, 4, 7, 6]
    (series,) = evolution.numbers(grouped([one]))["series"]
    assert [it["middle"] for it in series["best_so_far"]["FR.upper"]] == [2, 2, 5, 5, 5, 5, 7, 7]


def at(share: float, count: int) -> np.ndarray:
    """So many rows of joint angles at a share of the way from low to high."""
    low, high = SPEC.of_joints("low"), SPEC.of_joints("high")
    return np.tile(low + share * (high - low), (count, 1))


def test_coverage_is_counted_in_four_ways():
    found = made("dominic", rollouts=16)
    places = np.repeat([0.01, 0.06, 0.11, 0.16], 4)  # four cells of every plane
    angle = np.concatenate([at(share, 1) for share in places])
    unsafe, speed = np.zeros(16), np.ones(16)
    unsafe[4:8] = 0.004  # one step of 250
    speed[8:12] = 0.09
    tried = replace(found.skills, joint_angle=angle, unsafe=unsafe, speed=speed)
    (series,) = coverage.numbers(grouped([replace(found, skills=tried)]))["series"]
    cells = {name: way["middle"] * 400 for name, way in series["ways"].items()}
    assert cells == pytest.approx(
        {"equal, safe": 3, "equal, moving": 2, "few, safe": 1, "paper, every": 2}
    )


def test_planes_are_those_of_the_seed_whose_coverage_is_the_median():
    three = [made("dominic", seed, rollouts=8) for seed in (0, 1, 2)]
    rows = [
        np.concatenate([at(share, 8 // len(shares)) for share in shares])
        for shares in ((0.01, 0.26, 0.51, 0.76), (0.51, 0.76), (0.51,))
    ]
    three = [
        replace(it, skills=replace(it.skills, joint_angle=row, unsafe=np.zeros(8)))
        for it, row in zip(three, rows, strict=True)
    ]
    numbers = angles.numbers(grouped(three))
    (series,) = numbers["series"]
    assert series["seed"] == 1
    assert series["cells"] == [[[10, 10], [15, 15]]] * 18
    assert Summary(**series["coverage"]) == Summary(3, 2 / 400, 1.5 / 400, 3 / 400)
    block = angles.draw(numbers).subfigs[0]
    picture = block.get_axes()[0].images[0].get_array()
    assert np.argwhere(picture).tolist() == [[10, 10], [15, 15]]
    assert "DOMiNiC, seed 1: 8 rollouts; coverage of its seeds 0.50 [0.38, 0.75] %" in printed(
        angles.draw(numbers)
    )
    two = angles.numbers(grouped(three[:2]))["series"][0]
    assert two["seed"] == 1  # of two, the one that fills less


def test_profiles_use_the_threshold_of_each_seed():
    found = made(rollouts=16)
    ruler, tried = np.eye(2), found.skills
    feature = tried.z + np.repeat([[0.03, 0.04], [0.3, 0.4]], 8, axis=0)  # missed by 0.05 and 0.5
    found = replace(found, ruler=ruler, delta=0.05 + 1e-9, skills=replace(tried, feature=feature))
    (series,) = profiles.numbers(grouped([found]))["series"]
    distance = [it["middle"] for it in series["distance"]]
    assert [distance[k] for k in (0, 4, 6, 49, 51, 100)] == [0, 0, 0.5, 0.5, 1, 1]
    assert series["performance"][0]["middle"] <= 0.5
    assert series["performance"][-1]["middle"] == 0


def test_tracking_errors_are_means_over_rollouts_and_what_is_far_away_is_left_out():
    found = made(task="velocity", rollouts=ROLLOUTS)
    asked = found.tracking
    off = np.array([[0.1, 0.0], [-0.1, 0.0], [0.1, 0.3]])  # |v| 0.1, |w| 0.1 on average
    late = asked.command[:, None] + off[None]
    near = np.zeros(len(asked.command), bool)
    near[:5] = True
    late[5:] += 100.0
    tracked = replace(asked, late=late, whole=late + 1.0, reachable=near)
    delta = (0.1 + 0.1 + 0.1**0.5) / 3  # the third rollout misses by sqrt(0.01 + 0.09)
    whitened = replace(found, tracking=tracked, ruler=np.eye(2), delta=delta + 1e-9)
    (series,) = tracking.numbers(grouped([whitened]))["series"]
    late_errors = {name: cell["middle"] for name, cell in series["late"].items()}
    assert late_errors == pytest.approx({"speed": 0.1, "yaw": 0.1, "joint": delta, "within": 1.0})
    assert series["whole"]["within"]["middle"] == 0
    figure = tracking.draw(tracking.numbers(grouped([whitened])))
    shown = figure.get_axes()[0].collections[0].get_array()
    assert np.ma.count(np.ma.masked_invalid(shown)) == 5


def test_the_seed_in_the_middle_is_shown(followed):
    (series,) = tracking.numbers(followed)["series"]
    errors = {it["seed"]: it["late"]["medians"]["joint"] for it in series["seeds"]}
    assert errors[series["shown"]] == np.median(list(errors.values()))


def test_an_unknown_figure_is_answered_with_the_valid_ones():
    from ursa.evaluate.draw.gallery import refuse_unknown

    with pytest.raises(UserError, match="did you mean damages"):
        refuse_unknown(["damage"])
