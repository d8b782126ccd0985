"""The house rules: layers, lazy names, sizes, README."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import juryrank

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "juryrank"
#: rooms from the bottom up; a room imports only from rooms above it in this list
LAYERS = [
    *("errors", "columns", "tables", "simulation", "reconciliation", "formats", "covariates", "counts", "prior"),
    *("likelihoods", "objective", "layout", "solver", "information", "optima", "task", "existence"),
    *("evidence", "clusters", "spread", "coefficients", "chords"),
    *("diagnostics.cycles", "diagnostics.consistency", "diagnostics.agreement", "diagnostics"),
    *(
        "estimate",
        "remarks",
        "fitting",
        "repeats",
        "resampling",
        "diagnostics.diagnosis",
        "document",
        "rank_sets",
        "ranking",
        "conflicts",
        "influence",
        "scoring",
        "held_out",
        "ratio_tests",
        "models",
        "verdicts",
        "pipeline",
        "cli",
        "__main__",
    ),
]
WITHOUT_JAX = {"errors", "columns", "tables", "reconciliation", "formats", "covariates", "simulation", "cli"}
PURE = {"counts", "likelihoods", "objective", "layout", "solver", "information", "optima", "task", "existence"}
PURE |= {"evidence", "clusters", "spread", "estimate", "remarks", "fitting", "rank_sets", "ranking"}
PURE |= {"chords", "repeats", "resampling", "conflicts", "influence"}
PURE |= {"scoring", "held_out", "ratio_tests", "models"}
PURE |= {"coefficients", "covariates"}
FILES = sorted(SOURCE.rglob("*.py"))


def room(path: Path) -> str:
    """The layer that a file belongs to."""
    dotted = ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
    return next(name for name in sorted(LAYERS, key=len, reverse=True) if (dotted + ".").startswith(name + "."))


def imports(path: Path) -> set[str]:
    """Modules that a file imports outside of type checking."""
    tree = ast.parse(path.read_text())
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
            for inner in ast.walk(node):
                inner.skip = True
        if getattr(node, "skip", False):
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return found


@pytest.mark.parametrize(
    "path", [p for p in FILES if p.parent != SOURCE or p.stem != "__init__"], ids=lambda path: path.stem
)
def test_imports_go_downwards(path):
    """A file imports only from rooms below its own."""
    own = LAYERS.index(room(path))
    for module in imports(path):
        if module.startswith("juryrank."):
            other = SOURCE / Path(*module.split(".")[1:])
            target = other.with_suffix(".py") if other.with_suffix(".py").exists() else other / "__init__.py"
            assert LAYERS.index(room(target)) <= own, f"{room(path)} imports {module}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_collecting_rooms_never_import_jax(path):
    """Rooms that only read, write or parse never name jax."""
    if path.parent == SOURCE and path.stem == "__init__" or room(path) not in WITHOUT_JAX:
        return
    assert not {m for m in imports(path) if m.split(".")[0] == "jax"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_mathematics_has_no_outside(path):
    """Rooms of mathematics open no file and read no clock."""
    if path.parent == SOURCE and path.stem == "__init__" or room(path) not in PURE:
        return
    assert not {m.split(".")[0] for m in imports(path)} & {"os", "time", "datetime", "pathlib", "random", "io"}
    assert not re.search(r"\bopen\(", path.read_text())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_files_stay_short(path):
    """No file of the package has more than 450 lines."""
    assert len(path.read_text().splitlines()) <= 450


def test_no_public_name_hides_behind_a_room():
    """A public name that were also a submodule's would turn into the module once that is imported."""
    assert not set(juryrank.__all__) & {path.stem for path in SOURCE.glob("*") if path.name != "__init__.py"}


def test_every_public_name_can_be_loaded():
    """Each name in `__all__` is there, and no other public name is promised by dir()."""
    for name in juryrank.__all__:
        assert getattr(juryrank, name) is not None
    assert dir(juryrank) == juryrank.__all__
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = juryrank.nonsense


@pytest.mark.parametrize("command", ["import juryrank", "import juryrank.cli"])
def test_start_is_light(command):
    """Importing the package, or its command line, loads neither jax nor pandas nor numpy."""
    code = f"{command}; import sys; print([m for m in ('jax', 'pandas', 'numpy', 'scipy') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def blocks(language: str) -> list[str]:
    """Fenced blocks of README in one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", (ROOT / "README.md").read_text(), flags=re.M | re.S)


def test_quick_start_is_two_lines():
    """README's quick start has exactly two sh blocks of one line each."""
    assert [len(block.strip().splitlines()) for block in blocks("sh")] == [1, 1]


def test_readme_python_runs(tmp_path, monkeypatch):
    """The Python in README runs from top to bottom, in one namespace."""
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in blocks("python"):
        exec(compile(block, "README.md", "exec"), names)
    assert blocks("python")
