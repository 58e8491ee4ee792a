"""Guided: whether what shall walk a robot home is an agent that can; by its settings, no JAX."""

from pathlib import Path

from ursa.errors import UserError
from ursa.run import folder, pretrained, settings

TASK = "velocity"
SHIPPED, SCRIPT = "auto", "script"


def checked(homing: str, robot: str) -> str:
    """The agent of `--homing`, as the actor finds it from anywhere; UserError if it is none.

    "auto" is the one that comes with ursa for this robot, if there is one; "" a scripted trot.
    """
    if homing == SHIPPED:
        name = f"{robot}-{TASK}"
        return name if name in pretrained.names() else ""
    if homing in ("", SCRIPT):
        return ""
    agent = folder.published(pretrained.opened(homing))
    wanted = f"want the folder of an agent of {robot} / {TASK}, or {SCRIPT} for a scripted trot"
    if not (agent / folder.CONFIG).exists() or not any(agent.glob("seed_*")):
        raise UserError(f"homing = {homing}: there is no agent; {wanted}")
    config = settings.read(agent / folder.CONFIG, whole=False)
    if (config.robot, config.task) != (robot, TASK):
        raise UserError(f"homing = {homing}: an agent of {config.robot} / {config.task}; {wanted}")
    return str(Path(homing).absolute()) if Path(homing).exists() else homing
