"""Which package imports which: one way only, so that a change to one is no matter of those before it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import tensortap

ROOT = Path(tensortap.__file__).parent
# Each may import those before it.
ORDER = (
    *("_torch_compat", "_health", "_spool", "_config", "_debug", "_stats", "_record", "_hooks", "_session", "integrations"),
    *("huggingface", "lightning", "api", "__init__"),
)
ALONE = ("_torch_compat", "huggingface", "lightning", "api", "__init__")  # modules, no packages


def _modules() -> dict[str, ast.Module]:
    """The source of each module by its name below the package, as `_spool.layout`."""
    paths = [path.relative_to(ROOT) for path in ROOT.rglob("*.py")]
    return {".".join(path.with_suffix("").parts): ast.parse((ROOT / path).read_text()) for path in paths}


def _imported(tree: ast.Module, known: dict[str, ast.Module]) -> Iterator[str]:
    """What a module imports of ours, wherever it stands: for types and within functions, too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            assert not [one.name for one in node.names if one.name.split(".")[0] == "tensortap"], "write from tensortap… import"
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "write the whole path"
            first, _, path = (node.module or "").partition(".")
            for name in [one.name for one in node.names] if first == "tensortap" else ():
                whole = f"{path}.{name}".lstrip(".")
                yield whole if whole in known else path or "__init__"


def test_imports_go_one_way() -> None:
    known = _modules()
    assert {name.split(".")[0] for name in known} == set(ORDER), "a new package needs its place in the order"
    for name, tree in known.items():
        package = name.split(".")[0]
        allowed = ORDER[: ORDER.index(package) + (package not in ALONE)]
        assert [other for other in _imported(tree, known) if other.split(".")[0] not in allowed] == [], name


def test_no_module_imports_itself_by_way_of_others() -> None:
    known = _modules()
    TopologicalSorter({name: set(_imported(tree, known)) for name, tree in known.items()}).prepare()


def test_private_modules_of_torch_are_imported_in_one_place() -> None:
    private = re.compile(r"torch\._C\b|^\s*(?:from|import) torch[\w.]*\._", re.MULTILINE)
    assert [path.name for path in ROOT.rglob("*.py") if private.search(path.read_text())] == ["_torch_compat.py"]


def test_contributors_are_told_the_order() -> None:
    told = (Path(__file__).parents[3] / "CONTRIBUTING.md").read_text().partition("## Inside the collector")[2]
    assert re.findall(r"^\| `(\w+)` \|", told, re.MULTILINE) == [name for name in ORDER if name not in ALONE]
