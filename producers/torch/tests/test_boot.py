"""Which Python processes the collector gets into below `tensortap run`, and which not."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parents[1]
BOOT = HERE / "boot"
LOOK = "import sys; print('watched' if any(type(f).__module__ == 'tensortap_boot' for f in sys.meta_path) else 'not')"
CHILD = f"""
import concurrent.futures, multiprocessing, sys
def look(results=None):
    found = any(type(f).__module__ == 'tensortap_boot' for f in sys.meta_path)
    return found if results is None else results.put(found)
if __name__ == '__main__':
    kind = sys.argv[1]
    if kind == 'pool':
        with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context('spawn')) as pool:
            found = pool.submit(look).result()
    else:
        context = multiprocessing.get_context(kind)
        results = context.Queue()
        process = context.Process(target=look, args=(results,))
        process.start()
        found = results.get()
        process.join()
    print('watched' if found else 'not')
"""


def python(*arguments: str, path: tuple[Path, ...] = (), **variables: str) -> str:
    """What a Python prints that is started as `tensortap run` starts it."""
    environment = {**os.environ, "TENSORTAP_ATTACH": "1", **variables}
    environment["PYTHONPATH"] = os.pathsep.join(map(str, (*path, BOOT, HERE)))
    done = subprocess.run([sys.executable, *arguments], cwd="/", env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip() + done.stderr.strip()


@pytest.mark.parametrize("options", [(), ("-s",), ("-P",), ("-B", "-u")] if sys.version_info >= (3, 11) else [(), ("-s",), ("-B", "-u")])
def test_a_python_is_watched(options: tuple[str, ...]) -> None:
    assert python(*options, "-c", LOOK) == "watched"


@pytest.mark.parametrize("option", ["-I", "-E", "-S"])
def test_a_python_that_ignores_its_environment_is_not(option: str) -> None:
    """As docs/attach.md says: there, the package must be installed."""
    assert python(option, "-c", LOOK) == "not"


@pytest.mark.parametrize("kind", ["fork", "spawn", "forkserver", "pool"])
def test_children_are_watched(kind: str, tmp_path: Path) -> None:
    script = tmp_path / "children.py"
    script.write_text(CHILD)
    assert python(str(script), kind) == "watched"


def test_programs_started_by_a_program_are_watched() -> None:
    assert python("-c", f"import subprocess, sys; subprocess.run([sys.executable, '-c', {LOOK!r}])") == "watched"


def test_nothing_happens_that_was_not_asked_for() -> None:
    assert python("-c", LOOK, TENSORTAP_ATTACH="") == "not"


def test_a_sitecustomize_behind_ours_runs_once(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("print('theirs')")
    environment = {**os.environ, "TENSORTAP_ATTACH": "1", "PYTHONPATH": os.pathsep.join(map(str, (BOOT, tmp_path)))}
    look = LOOK + "; import sitecustomize; print(sitecustomize.__file__)"
    done = subprocess.run([sys.executable, "-c", look], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["theirs", "watched", str(tmp_path / "sitecustomize.py")]


def test_a_sitecustomize_behind_ours_that_fails_fails_as_ever(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("raise RuntimeError('theirs')")
    environment = {**os.environ, "TENSORTAP_ATTACH": "1", "PYTHONPATH": os.pathsep.join(map(str, (BOOT, tmp_path)))}
    done = subprocess.run([sys.executable, "-c", LOOK], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "watched"
    assert "RuntimeError: theirs" in done.stderr


def test_one_before_ours_that_does_not_chain_hides_us(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("")
    assert python("-c", LOOK, path=(tmp_path,)) == "not"


def test_plug_ins_of_engines_are_found_without_an_installation() -> None:
    look = (
        "from importlib.metadata import entry_points;"
        "print(*(e.load().__module__ for g in ('vllm.general_plugins', 'sglang.srt.plugins') for e in entry_points(group=g) if e.name == 'tensortap'))"
    )
    assert python("-c", look) == "tensortap_boot tensortap_boot"


def test_an_adapter_that_fails_is_told_and_harms_nothing(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("answer = 42")
    (tmp_path / "tensortap").mkdir()
    (tmp_path / "tensortap" / "__init__.py").write_text("raise ImportError('broken')")
    said = python("-c", "import torch; print(torch.answer)", path=(BOOT, tmp_path))
    assert said == "42tensortap: cannot attach to torch, which runs unobserved: ImportError: broken"


def test_a_loader_that_cannot_be_listened_to_is_told_and_harms_nothing() -> None:
    script = """
import sys
from importlib.machinery import ModuleSpec
class Loader:
    __slots__ = ()
    def create_module(self, spec): return None
    def exec_module(self, module): module.answer = 42
class Theirs:
    def find_spec(self, name, path=None, target=None): return ModuleSpec(name, Loader()) if name == 'torch' else None
sys.meta_path.insert(1, Theirs())
import torch
print(torch.answer)
"""
    assert python("-c", script) == "42tensortap: cannot attach to torch, which runs unobserved: its loader is a Loader"


def test_starting_python_costs_little() -> None:
    """Under 3 ms: the least of many starts, since others use the machine too."""

    def took(**variables: str) -> float:
        begin = time.perf_counter()
        subprocess.run([sys.executable, "-c", ""], env={**os.environ, **variables}, check=True)
        return time.perf_counter() - begin

    starts = [(took(PYTHONPATH=str(BOOT), TENSORTAP_ATTACH="1"), took()) for _ in range(25)]
    watched, plain = (min(times) for times in zip(*starts, strict=True))
    assert watched - plain < 0.003
