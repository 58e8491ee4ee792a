"""Every number of a run, frozen, with the paper's value and symbol. Imports nothing heavy.

A room receives its own section. Words that choose a variant are checked here and turned into
functions once, where the run is put together; nothing compares them later.
"""

from dataclasses import dataclass, field, fields, is_dataclass, replace
from operator import attrgetter

from ursa.errors import UserError, brief, listed


@dataclass(frozen=True, kw_only=True)
class WorldConfig:
    """The world model W; in the preset `paper` of the sizes of the DayDreamer A1 configuration."""

    deter: int = 256  # recurrent state
    units: int = 256  # width inside the recurrent model
    stoch: int = 32  # categorical variables
    classes: int = 32  # classes of each
    unimix: float = 0.01  # share of uniform mixed into every categorical
    prior_layers: int = 3
    encoder_layers: int = 4
    encoder_units: int = 512
    head_layers: int = 4
    head_units: int = 512
    kl_target: float = 3.5  # nats the controller aims at
    kl_balance: float = 0.8  # weight of the side that trains the prior


@dataclass(frozen=True, kw_only=True)
class BehaviorConfig:
    """Actor, critics, multipliers and the dream they learn in."""

    horizon: int = 15  # H
    discount: float = 0.995  # gamma
    constraint_discount: float = 0.0  # gamma of URSA's psi and of C where it differs; 0: the same
    return_lambda: float = 0.95  # lambda of the returns
    slow_rate: float = 0.02  # tau
    layers: int = 4
    units: int = 512
    multiplier_layers: int = 2
    multiplier_units: int = 256
    min_std: float = 0.1
    max_std: float = 1.0
    entropy_target: float = 0.5  # of the range between min_std and max_std
    huber: float = 1e-3  # where the distance turns from square to line
    margin: float = 1.0  # share of delta beyond which the skill constraint counts as violated
    safety: bool = True  # no safety is an ablation: lambda_safe = 0


@dataclass(frozen=True, kw_only=True)
class OptimizerConfig:
    """Adam, one recipe for every network."""

    learning_rate: float = 1e-4
    epsilon: float = 1e-6
    clip: float = 100.0  # global norm
    weight_decay: float = 1e-2  # on matrices only


@dataclass(frozen=True, kw_only=True)
class SkillConfig:
    """The skill corridor: feature, repertoire, threshold."""

    repertoire_size: int = 4096  # N_R
    distinct_skills: int = 512  # N_z
    skill_period: int = 250  # T, control steps a skill is kept
    refresh_period: int = 250  # control steps between refreshes of covariance and threshold
    feature: str = "vae"  # "vae" | "identity"
    skill_size: int = 2  # D of the VAE; identity takes the posture's size
    vae_units: int = 128
    vae_beta: float = 0.1
    vae_batch: int = 256
    vae_learning_rate: float = 1e-4
    vae_rows: int = 512  # rows the repertoire must hold before the VAE learns from it
    vae_warm: float = 0.1  # share of the run in which it learns at every update
    vae_frozen: float = 0.5  # share from which on it never learns again
    vae_gap: int = 1000  # updates: between the two, pauses grow by this much
    vae_length: int = 200  # updates it learns for after a pause
    commit: str = "auto"  # "instant" (paper) | "window" | "auto": as the task says
    window: int = 10  # rows a window commit averages
    metric: str = "whitened"  # "whitened" | "euclidean" | "literal"
    sampler: str = "kde"  # "kde" (paper) | "box"
    fixed_delta: float = 0.0  # > 0: this threshold instead of the adaptive one (ablation)
    hold: float = 0.0  # share of dreams that are asked to stay as they begin, where that is safe


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """How much, how often, how wide."""

    steps: int = 1_000_000  # control steps over all robots of a seed
    robots: int = 32  # robots of a seed
    prefill: int = 5_000  # random control steps before the first update
    steps_per_update: int = 32  # control steps of a seed per update
    batch: int = 32  # sequences; batch * length are the dream starts of an update
    length: int = 32  # control steps of a sequence
    replay_size: int = 1_000_000
    checkpoint_every: int = 100_000  # control steps
    log_every: int = 4_000  # control steps
    unroll: int = 0  # of the scans; 0: what suits the device
    patience: int = 50  # updates in a row that may fail before an agent is rolled back


@dataclass(frozen=True, kw_only=True)
class DominicConfig:
    """The DOMiNiC baseline (paper, Table 1)."""

    skills: int = 8  # n_dominic
    optimality: float = 0.9
    distance: float = 1.0  # l_0
    burn_in: float = 0.1  # share of the run before diversity counts
    average_rate: float = 0.01
    multiplier_rate: float = 5e-3
    multiplier_clip: float = 3.0


@dataclass(frozen=True, kw_only=True)
class ForwardConfig:
    """The forward task, where the paper leaves a term undefined: our default, the alternative."""

    speed: str = "clipped"  # r_velx, clipped: clip(v / desired_speed, -1, 1) | raw: v in m/s
    lateral: str = "squared"  # r_vely, squared: v^2 | absolute: |v|
    yaw: str = "squared"  # r_yaw, squared: w^2 | absolute: |w|
    cost: str = "printed"  # printed: 0.7 - r_upr | hinged: never below 0
    desired_speed: float = 0.3  # m/s at which `clipped` is full
    joints: tuple[str, ...] = ()  # which joints phi reads beside the height; none named: all


@dataclass(frozen=True, kw_only=True)
class VelocityConfig:
    """The velocity task: how the cost reads the posture terms."""

    # gated: the terms as printed; not gated: a bad hip does not make the cost jump by 1.4. The safe
    # set is the same either way: when all four are above 0.7, every gate is open.
    gated: bool = False


@dataclass(frozen=True, kw_only=True)
class Config:
    """A whole run."""

    robot: str = "a1"  # a1, go2, point, another package's, or package.module:NAME
    task: str = "forward"  # forward, velocity, point, another package's, or package.module
    method: str = "ursa"  # ursa, or a baseline: daydreamer, dominic
    engine: str = "mujoco"  # mujoco; solid: so, and legs do not pass through each other; pybullet
    tick: float = 0.005  # physics step, s
    settle: float = 0.0  # s of lying after which a robot trusts that it rests (0.05); 0: off
    arena: float = 20.0  # radius, m
    seed: int = 0  # of chance; the first of several
    seeds: int = 1  # trained together, seed .. seed + seeds - 1
    world: WorldConfig = field(default_factory=WorldConfig)
    behavior: BehaviorConfig = field(default_factory=BehaviorConfig)
    optimizer: OptimizerConfig = field(default_factory=OptimizerConfig)
    skill: SkillConfig = field(default_factory=SkillConfig)
    train: TrainConfig = field(default_factory=TrainConfig)
    dominic: DominicConfig = field(default_factory=DominicConfig)
    forward: ForwardConfig = field(default_factory=ForwardConfig)
    velocity: VelocityConfig = field(default_factory=VelocityConfig)


# Settings younger than runs that are kept: what was the case in those.
LATER: dict[str, float] = {"settle": 0.0}
# Floats with a bound of their own; whole numbers are at least 1 unless listed in LEAST.
POSITIVE = (
    "tick",
    "arena",
    "world.kl_target",
    "behavior.huber",
    "optimizer.learning_rate",
    "optimizer.epsilon",
    "optimizer.clip",
    "skill.vae_learning_rate",
    "dominic.distance",
    "dominic.multiplier_rate",
    "dominic.multiplier_clip",
    "forward.desired_speed",
)
NOT_NEGATIVE = ("settle", "optimizer.weight_decay", "skill.vae_beta", "skill.fixed_delta")
SHARES = (
    "world.unimix",
    "world.kl_balance",
    "behavior.return_lambda",
    "behavior.entropy_target",
    "dominic.optimality",
    "dominic.burn_in",
    "dominic.average_rate",
    "skill.hold",
    "skill.vae_warm",
    "skill.vae_frozen",
)
BELOW_ONE = ("behavior.discount", "behavior.constraint_discount", "behavior.slow_rate")  # below
CHOICES = {
    "skill.feature": ("vae", "identity"),
    "skill.commit": ("auto", "instant", "window"),
    "skill.metric": ("whitened", "euclidean", "literal"),
    "skill.sampler": ("kde", "box"),
    "forward.speed": ("clipped", "raw"),
    "forward.lateral": ("squared", "absolute"),
    "forward.yaw": ("squared", "absolute"),
    "forward.cost": ("printed", "hinged"),
}
LEAST = {"seed": 0, "train.unroll": 0, "dominic.skills": 3}  # skill 0 is nobody's neighbour
LARGEST_SEED = 2**31 - 1  # of the last seed: what every generator takes
LARGEST_COUNT = 2**31 - 1  # of a whole number that is not in MOST: counters have 32 bits
LARGEST_NUMBER = 1e9  # of a float that is not in MOST: far beyond sense, far within 32 bits
WIDEST, DEEPEST = 16_384, 64  # units of a layer, layers of a network
MOST = {
    **dict.fromkeys((f"world.{name}" for name in ("deter", "units", "stoch", "classes")), WIDEST),
    **dict.fromkeys(("world.encoder_units", "world.head_units", "skill.vae_units"), WIDEST),
    **dict.fromkeys(("behavior.units", "behavior.multiplier_units"), WIDEST),
    **dict.fromkeys((f"world.{name}_layers" for name in ("prior", "encoder", "head")), DEEPEST),
    **dict.fromkeys(("behavior.layers", "behavior.multiplier_layers"), DEEPEST),
    **dict.fromkeys(("train.batch", "train.length", "train.robots", "skill.window"), 65_536),
    **dict.fromkeys(("behavior.horizon", "skill.skill_size", "train.unroll", "seeds"), 4_096),
    "dominic.skills": 4_096,
    "settle": 1.0,
    "skill.repertoire_size": 2**24,  # what its file can say
    **dict.fromkeys(("optimizer.learning_rate", "skill.vae_learning_rate"), 1.0),
    **dict.fromkeys(("optimizer.epsilon", "optimizer.weight_decay"), 1.0),
    "dominic.multiplier_rate": 1.0,
    "seed": float("inf"),  # the last one is what counts, see below
}


def complaints(config: Config) -> list[str]:
    """Everything that is wrong with a config, one sentence each; empty when it can run."""
    wrong: list[str] = []
    hopeless: set[str] = set()  # numbers that can never be right: what follows from them is noise

    def want(good: bool, sentence: str) -> None:
        if not good and sentence.partition(" = ")[0] not in hopeless:
            wrong.append(sentence)

    for path, value in _numbers(config):
        if isinstance(value, int):
            least = LEAST.get(path, 1)
            most = MOST.get(path, LARGEST_COUNT)
            want(value >= least, f"{path} = {brief(value)}: want at least {least}")
            want(value <= most, f"{path} = {brief(value)}: want at most {most}")
            continue
        finite = value == value and abs(value) != float("inf")
        want(finite, f"{path} = {value}: want a number")
        want(not finite or path not in POSITIVE or value > 0, f"{path} = {value}: want > 0")
        want(not finite or path not in NOT_NEGATIVE or value >= 0, f"{path} = {value}: want >= 0")
        most = MOST.get(path, LARGEST_NUMBER)
        large = finite and value > most and path not in (*SHARES, *BELOW_ONE)
        want(not large, f"{path} = {value}: want at most {most:g}")
        want(
            not finite or path not in SHARES or 0 <= value <= 1,
            f"{path} = {value}: want 0 <= . <= 1",
        )
    hopeless |= {sentence.partition(" = ")[0] for sentence in wrong}
    want(
        config.seed + config.seeds - 1 <= LARGEST_SEED,
        f"seed = {brief(config.seed)}, seeds = {brief(config.seeds)}: want the last at most "
        f"{LARGEST_SEED}",
    )
    if any(isinstance(value, int) and abs(value) > 2**63 for _, value in _numbers(config)):
        return wrong  # of which no sum or product need be shown
    skill, train, behavior = config.skill, config.train, config.behavior
    want(
        1 <= skill.distinct_skills <= skill.repertoire_size,
        f"skill.distinct_skills = {skill.distinct_skills}: want 1 <= distinct_skills <= "
        f"repertoire_size = {skill.repertoire_size}",
    )
    for path, allowed in CHOICES.items():
        value = attrgetter(path)(config)
        want(value in allowed, f"{path} = {brief(value)}: want one of {', '.join(allowed)}")
    want(
        not 0 <= skill.vae_frozen < skill.vae_warm <= 1,
        f"skill.vae_frozen = {skill.vae_frozen}: want at least vae_warm = {skill.vae_warm}",
    )
    want(0 < behavior.discount < 1, f"behavior.discount = {behavior.discount}: want 0 < . < 1")
    want(
        0 <= behavior.constraint_discount < 1,
        f"behavior.constraint_discount = {behavior.constraint_discount}: want 0 <= . < 1",
    )
    want(behavior.margin > 0, f"behavior.margin = {behavior.margin}: want > 0")
    want(0 < behavior.slow_rate <= 1, f"behavior.slow_rate = {behavior.slow_rate}: want 0 < . <= 1")
    want(
        0 < behavior.min_std < behavior.max_std,
        f"behavior.min_std = {behavior.min_std}: want 0 < min_std < max_std = {behavior.max_std}",
    )
    want(
        train.prefill >= train.length * train.robots,
        f"train.prefill = {train.prefill}: want at least length * robots = "
        f"{train.length * train.robots}, or no sequence can be drawn",
    )
    want(
        train.replay_size >= 2 * train.length * train.robots,
        f"train.replay_size = {train.replay_size}: want at least 2 * length * robots = "
        f"{2 * train.length * train.robots}",
    )
    if train.robots >= 1 and train.steps_per_update >= 1:  # else said above
        want(
            train.steps_per_update % train.robots == 0
            or train.robots % train.steps_per_update == 0,
            f"train.steps_per_update = {train.steps_per_update}: want a multiple or a divisor of "
            f"robots = {train.robots}",
        )
        want(
            train.steps % train.robots == 0,
            f"train.steps = {train.steps}: want a multiple of robots = {train.robots}",
        )
    want(
        train.steps > train.prefill,
        f"train.steps = {train.steps}: want more than prefill = {train.prefill}, or nothing is "
        "learnt",
    )
    return wrong


def alone(config: Config) -> Config:
    """The same for one seed with one robot."""
    return replace(config, seeds=1, train=replace(config.train, robots=1))


def check(config: Config) -> Config:
    """The config itself, or one error that lists everything wrong with it."""
    wrong = complaints(config)
    if wrong:
        raise UserError("this run cannot start:\n  " + listed(wrong))
    return config


def _numbers(section: object, path: str = "") -> list[tuple[str, float]]:
    """Every number by its dotted name, as an int or a float just as it is declared."""
    found: list[tuple[str, float]] = []
    for item in fields(section):  # pyright: ignore[reportArgumentType]
        value, name = getattr(section, item.name), path + item.name
        if is_dataclass(value):
            found += _numbers(value, f"{name}.")
        elif item.type in (int, float):
            found.append((name, item.type(value)))
    return found
