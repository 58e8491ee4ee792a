"""Install a package for one test, the way pip leaves it: modules and entry-point metadata."""

from collections.abc import Mapping
from pathlib import Path

HERE = Path(__file__).parent


def install(folder: Path, name: str, groups: Mapping[str, Mapping[str, str]]) -> None:
    """Write NAME-1.0.dist-info with these entry points into a folder on the path."""
    metadata = folder / f"{name}-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = [
        line
        for group, entries in groups.items()
        for line in (f"[{group}]", *(f"{key} = {value}" for key, value in entries.items()))
    ]
    (metadata / "entry_points.txt").write_text("\n".join(lines) + "\n")
