"""Which Python processes the collector gets into below `tensortap run`, and which not."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import venv
import zipfile
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
    environment["PYTHONPATH"] = os.pathsep.join(map(str, (*path, BOOT, HERE / "src")))
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


@pytest.mark.parametrize("command", ["exec {python} -c {look}", "env -u HOME {python} -c {look}", "uv run --no-project --python {python} python -c {look}"])
def test_programs_between_do_not_matter(command: str) -> None:
    """A shell that gives its place away, and launchers; uv is that of the tools, where it is not on the path."""
    line = command.format(python=sys.executable, look=f'"{LOOK}"')
    environment = {**os.environ, "TENSORTAP_ATTACH": "1", "PYTHONPATH": f"{BOOT}:{HERE / 'src'}", "UV_OFFLINE": "1"}
    environment["PATH"] += f":{HERE.parents[1] / '.tools/uv/bin'}"
    done = subprocess.run(["bash", "-c", line], cwd="/", env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "watched"


def test_another_environment_is_watched_too(tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", with_pip=False)
    look = f"import subprocess; subprocess.run([{str(tmp_path / 'venv/bin/python')!r}, '-c', {LOOK!r}])"
    assert python("-c", look) == "watched"


def test_a_child_of_an_empty_environment_is_not() -> None:
    assert python("-c", f"import subprocess, sys; subprocess.run([sys.executable, '-c', {LOOK!r}], env={{}})") == "not"


def test_nothing_happens_that_was_not_asked_for() -> None:
    assert python("-c", LOOK, TENSORTAP_ATTACH="") == "not"


def test_a_sitecustomize_behind_ours_runs_once(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("print('theirs')")
    environment = {**os.environ, "TENSORTAP_ATTACH": "1", "PYTHONPATH": os.pathsep.join(map(str, (BOOT, tmp_path)))}
    look = LOOK + "; import sitecustomize; print(sitecustomize.__file__)"
    done = subprocess.run([sys.executable, "-c", look], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["theirs", "watched", str(tmp_path / "sitecustomize.py")]


def test_a_launch_within_one_of_another_release_runs_each_sitecustomize_once(tmp_path: Path) -> None:
    other = shutil.copytree(BOOT, tmp_path / "other")
    (tmp_path / "sitecustomize.py").write_text("print('theirs')")
    environment = {**os.environ, "TENSORTAP_ATTACH": "1", "PYTHONPATH": os.pathsep.join(map(str, (BOOT, other, tmp_path)))}
    done = subprocess.run([sys.executable, "-c", LOOK], env=environment, capture_output=True, text=True, check=True)
    assert (done.stdout.split(), done.stderr) == (["theirs", "watched"], "")


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


PRINTS = """
import os, subprocess, sys
print("own", flush=True)
os.write(2, b"native\\n")
print(subprocess.run([sys.executable, "-c", "print('captured')"], capture_output=True, text=True).stdout.strip().upper(), flush=True)
subprocess.run([sys.executable, "-c", "print('of a child')"])
child = os.fork()
if not child:
    print("of a fork", flush=True)
    os.kill(os.getpid(), 9)
os.waitpid(child, 0)
"""


def printed(folder: Path, redirect: str = "") -> tuple[str, dict[str, int]]:
    """What a program prints where it always did, and each line of its files with the number of their process."""
    environment = {**os.environ, "PYTHONPATH": str(BOOT)}
    launcher = f"""
import os, sys
links = [os.readlink(f"/proc/self/fd/{{stream}}") for stream in (1, 2)]
os.environ["TENSORTAP_LOGS"] = "\\n".join([{str(folder)!r}, *links])
os.execv(sys.executable, [sys.executable, "-c", {PRINTS!r}])
"""
    command = f"{sys.executable} -c '{launcher.replace(chr(39), chr(39) + chr(92) + chr(39) + chr(39))}' {redirect}"
    done = subprocess.run(["sh", "-c", command], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=True)
    kept = {line: int(file.stem) for file in folder.glob("*.*") for line in file.read_text().splitlines()}
    return done.stdout + done.stderr, kept


def test_each_process_prints_into_files_of_its_own(tmp_path: Path) -> None:
    """Not what another one captures; and what was printed before a kill is there."""
    elsewhere, kept = printed(tmp_path)
    assert elsewhere == ""
    assert kept.keys() == {"own", "native", "CAPTURED", "of a child", "of a fork"}
    assert kept["own"] == kept["native"] == kept["CAPTURED"]
    assert len(set(kept.values())) == 3


def test_streams_that_are_one_stay_one(tmp_path: Path) -> None:
    _, kept = printed(tmp_path, "2>&1")
    assert {file.suffix for file in tmp_path.iterdir()} == {".out"}
    assert (tmp_path / f"{kept['own']}.out").read_text() == "own\nnative\nCAPTURED\n"


def test_what_cannot_be_kept_is_printed_as_ever(tmp_path: Path) -> None:
    elsewhere, kept = printed(tmp_path / "gone")
    assert not kept
    assert elsewhere == "own\nCAPTURED\nof a child\nof a fork\nnative\n"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python in whose environment the wheel is installed, and nothing else."""
    folder = tmp_path_factory.mktemp("installed")
    parts = ("src", "boot", "csrc", "setup.py", "pyproject.toml", "README.md", "LICENSE")
    for part in parts:
        source = HERE / part
        shutil.copytree(source, folder / part) if source.is_dir() else shutil.copy(source, folder / part)
    build = "import sys; from setuptools.build_meta import build_wheel; build_wheel(sys.argv[1])"
    subprocess.run([sys.executable, "-c", build, str(folder)], cwd=folder, env={**os.environ, "CC": "false"}, capture_output=True, check=True)
    venv.create(folder / "venv", with_pip=False)
    (wheel,) = folder.glob("*.whl")
    (packages,) = (folder / "venv").glob("lib/python*/site-packages")
    zipfile.ZipFile(wheel).extractall(packages)  # which is what installing one without scripts does
    return folder / "venv" / "bin" / "python"


@pytest.mark.parametrize("options", [(), ("-I",), ("-E",)])
def test_an_installed_package_needs_no_path(options: tuple[str, ...], installed: Path) -> None:
    def look(**variables: str) -> str:
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        done = subprocess.run([installed, *options, "-c", LOOK], env={**environment, **variables}, capture_output=True, text=True, check=True)
        return done.stdout.strip() + done.stderr.strip()

    assert look(TENSORTAP_ATTACH="1") == "watched"
    assert look() == "not"


def test_plug_ins_of_an_installed_package_are_found(installed: Path) -> None:
    look = (
        "from importlib.metadata import entry_points;"
        "print(*(e.load().__module__ for g in ('vllm.general_plugins', 'sglang.srt.plugins') for e in entry_points(group=g)))"
    )
    assert subprocess.run([installed, "-c", look], capture_output=True, text=True, check=True).stdout.split() == ["tensortap_boot"] * 2


def test_starting_python_costs_little() -> None:
    """A third of Python's own start at most, as the least of many: others use the machine too."""

    def spent() -> float:
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        return children.ru_utime + children.ru_stime

    def took(**variables: str) -> float:
        begin = spent()
        subprocess.run([sys.executable, "-c", ""], env={**os.environ, "PYTHONDONTWRITEBYTECODE": "", **variables}, check=True)
        return spent() - begin

    starts = [(took(PYTHONPATH=str(BOOT), TENSORTAP_ATTACH="1"), took()) for _ in range(25)]
    watched, plain = (min(times) for times in zip(*starts, strict=True))
    assert watched < plain * 4 / 3
