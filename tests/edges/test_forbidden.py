"""Forbidden calls: nothing in the package can run what it reads, or hand a text to a shell."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "src" / "ursa"
MODULES = {"pickle", "cloudpickle", "dill", "marshal", "shelve", "joblib", "yaml", "jsonpickle"}
CALLS = {
    "eval",
    "exec",
    "compile",
    "__import__",
    "os.system",
    "os.popen",
    "torch.load",
    "pandas.read_pickle",
    "subprocess.getoutput",
    "subprocess.getstatusoutput",
}
TRUE = {"allow_pickle", "shell"}  # arguments that may be given, but only as False


def forbidden(source: str) -> list[str]:
    """What a file has that it must not have, with the line."""
    return [f"line {node.lineno}: {what}" for node, what in _found(ast.parse(source))]


def _found(tree: ast.Module) -> Iterator[tuple[ast.stmt | ast.expr, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node, it.name) for it in node.names if _top(it.name) in MODULES)
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{it.name}" for it in node.names]
            yield from ((node, it) for it in names if _top(it) in MODULES or it in CALLS)
        elif isinstance(node, ast.Call):
            if (name := _name(node.func)) in CALLS or _top(name) in MODULES:
                yield node, name
            for given in node.keywords:
                no = isinstance(given.value, ast.Constant) and given.value.value is False
                if given.arg in TRUE and not no:
                    yield node, f"{given.arg} is not False"


def _top(name: str) -> str:
    return name.partition(".")[0]


def _name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return f"{_name(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def files() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def test_the_whole_package_is_looked_at():
    rooms = {file.relative_to(PACKAGE).parts[0] for file in files()}
    assert {"gate", "log", "shared", "channel", "emulator", "live"} <= rooms
    assert {"run", "skill", "robot", "checkpoint.py", "durable.py"} <= rooms


def test_no_file_of_the_package_has_any_of_it():
    found = {str(file.relative_to(PACKAGE)): forbidden(file.read_text()) for file in files()}
    assert {name: said for name, said in found.items() if said} == {}


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "import cloudpickle as quick",
        "from pickle import loads",
        "def late():\n    import dill",
        "from os import system",
        "import os\nos.system('ls')",
        "eval(text)",
        "exec(text, {})",
        "__import__(name)",
        "import yaml\nyaml.load(file)",
        "np.load(path, allow_pickle=True)",
        "np.load(path, allow_pickle=trusted)",
        "subprocess.run(words, shell=True)",
        "torch.load(path)",
    ],
)
def test_the_checker_finds_it_where_it_is(source):
    assert forbidden(source)


@pytest.mark.parametrize(
    "source",
    [
        "np.load(path, allow_pickle=False)",
        "re.compile('a')",
        "subprocess.run(words)",
        "database.execute('x')",
        "json.loads(text)",
    ],
)
def test_the_checker_lets_the_rest_pass(source):
    assert forbidden(source) == []
