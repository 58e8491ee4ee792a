"""What cannot be shown is refused before anything heavy is loaded."""

from pathlib import Path

from ursa.config import Config
from ursa.errors import UserError
from ursa.robot import damage as wounds
from ursa.robot import registry
from ursa.robot.damage import Damage
from ursa.run import settings
from ursa.run.folder import CONFIG, REPERTOIRE, published
from ursa.run.pretrained import refuse_without_agent
from ursa.show import render

WIDTH, HEIGHT = 320, 240  # pixels of one robot


def refuse_early(folder: Path, damage: str) -> None:
    """What cannot be shown, by the files alone: loading an agent takes half a minute."""
    refuse_without_agent(folder)
    place = published(folder)
    config = settings.read(place / CONFIG, whole=False)
    check(config, damage, discovers=any(place.glob(f"seed_*/{REPERTOIRE}")))


def check(config: Config, damage: str, *, discovers: bool) -> tuple[Damage, ...]:
    """What breaks; refuses what cannot be shown, before anything moves."""
    if not discovers:
        raise UserError(f"{config.method} discovers no skills to show: give a run of ursa")
    spec = registry.robot(config.robot)
    render.check(spec, width=WIDTH, height=HEIGHT, camera="follow")
    broken = wounds.parse(damage, spec)
    if not broken:
        raise UserError(f'damage "{damage}" breaks nothing: name a joint, such as FL.upper')
    return broken
