"""Robots at a task: an arena, and the same behind Gymnasium's interface.

Importing this registers the Gymnasium ids below. Nothing ends by itself here: `terminated` is
always False, and `truncated` says that a hand is needed.

>>> import gymnasium, ursa.env
>>> env = gymnasium.make("ursa/Point-v0")
"""

import gymnasium

IDS = {
    "ursa/A1-Forward-v0": {"robot": "a1", "task": "forward"},
    "ursa/A1-Velocity-v0": {"robot": "a1", "task": "velocity"},
    "ursa/Go2-Forward-v0": {"robot": "go2", "task": "forward"},
    "ursa/Go2-Velocity-v0": {"robot": "go2", "task": "velocity"},
    "ursa/Point-v0": {"robot": "point", "task": "point"},
}

for _id, _settings in IDS.items():
    if _id not in gymnasium.registry:
        gymnasium.register(
            id=_id,
            entry_point="ursa.env.single:UrsaEnv",
            vector_entry_point="ursa.env.vector:UrsaVectorEnv",
            kwargs=_settings,
        )
