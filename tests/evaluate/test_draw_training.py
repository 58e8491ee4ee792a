"""What a figure says of the training behind it, and reward during training: who is drawn."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from evaluate.made import made
from evaluate.test_draw import printed
from ursa.evaluate.draw import style, training
from ursa.evaluate.group import grouped


def picture(found):
    return training.draw(training.numbers(grouped(found)))


def lived(found, steps, robots):
    train = {**found.config["train"], "steps": steps, "robots": robots}
    source = replace(found.source, steps=steps)
    return replace(found, source=source, config={**found.config, "train": train})


def test_methods_that_were_trained_otherwise_are_told_one_by_one():
    found = [
        lived(made("ursa", rollouts=16), 1_000_000, 32),
        lived(made("daydreamer", rollouts=16), 360_000, 1),
    ]
    numbers = style.heading("any", grouped(found), "median", "quartiles")
    assert style.said(numbers).endswith(
        "; URSA 1,000,000 steps of 32 robots, DayDreamer 360,000 steps of 1 robot"
    )
    early = lived(made("ursa", 1, rollouts=16), 250_000, 32)
    early = replace(early, config=found[0].config)  # it was to live as long
    numbers = style.heading("any", grouped([found[0], early]), "median", "quartiles")
    assert style.lived(numbers) == "250,000 to 1,000,000 steps of 32 robots"


def curves(method: str, have: int, seeds: int, robots: int = 32):
    """Seeds of a method, of which only the first have a learning curve."""
    found = [lived(made(method, seed, rollouts=16), 360_000, robots) for seed in range(seeds)]
    return [replace(it, curve=it.curve if k < have else None) for k, it in enumerate(found)]


def test_seeds_that_have_a_learning_curve_are_drawn_and_the_others_are_named():
    found = [*curves("ursa", 2, 2), *curves("dominic", 3, 5), *curves("daydreamer", 0, 2)]
    for each, reward in zip(found[2:5], (1.0, 2.0, 6.0), strict=True):
        each.curve.mean[:] = reward
    numbers = training.numbers(grouped(found))
    assert numbers["n"] == {"URSA": 2, "DOMiNiC": 3}
    dominic = numbers["series"][1]
    assert [it["seed"] for it in dominic["per_seed"]] == [0, 1, 2]
    assert dominic["reward"][0] == {"n": 3, "middle": 2.0, "low": 1.5, "high": 4.0}
    words = printed(training.draw(numbers))
    assert "learning curves of 3 of 5 seeds of DOMiNiC" in words
    assert "no learning curve: DayDreamer" in words
    assert training.numbers(grouped(curves("dominic", 0, 2))) is None


def test_nothing_is_said_of_curves_that_are_all_there():
    words = printed(picture([*curves("ursa", 2, 2), *curves("dominic", 2, 2)]))
    assert "learning curves of" not in words
    assert "no learning curve" not in words


@pytest.mark.parametrize(
    ("methods", "said"),
    [(("ursa", "daydreamer"), True), (("ursa", "dominic"), False), (("daydreamer",), False)],
)
def test_averages_of_many_skills_and_of_one_are_told_apart_where_both_are_drawn(methods, said):
    found = [it for method in methods for it in curves(method, 2, 2)]
    assert ("not the same thing is averaged" in printed(picture(found))) is said


def test_one_robot_is_also_told_in_hours():
    figure = picture(curves("ursa", 2, 2, robots=1))
    FigureCanvasAgg(figure).draw()
    (axes,) = figure.get_axes()
    (hours,) = axes.child_axes
    assert hours.get_xlabel() == "hours of the robot"
    steps, told = np.array(axes.get_xlim()), np.array(hours.get_xlim())
    assert told == pytest.approx(steps / 72_000)  # 3600 s at 20 steps a second
    (many,) = picture(curves("ursa", 2, 2, robots=32)).get_axes()
    assert not many.child_axes
