"""Builds the wheel: the package, and the C kernel where there is a compiler. The package works without."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import Distribution, find_packages, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

# Where the package lies.
ROOT = Path("src")
# Where the kernel lies in the package's root.
KERNEL = Path("tensortap/_stats/statistics.so")
BOOT = Path("boot/tensortap_boot.py")
# Every Python that has the package runs this line at its start, with -I too: it costs nothing where nothing is asked for.
START = 'import os; (os.environ.get("TENSORTAP_ATTACH") or os.environ.get("TENSORTAP_LOGS")) and __import__("tensortap_boot").enter()\n'
SOURCES = sorted(Path("csrc").glob("*.c"))
FLAGS = ("-std=gnu11", "-O3", "-ffp-contract=off", "-fno-math-errno", "-fPIC", "-fvisibility=hidden", "-shared")


def compile_kernel(target: Path) -> bool:
    """Whether the kernel was built; with the flags of the Makefile's target kernel. $CC may be a cross compiler."""
    command = [*shlex.split(os.environ.get("CC", "cc")), *FLAGS, "-o", str(target), *map(str, SOURCES), "-lpthread", "-lm"]
    try:
        subprocess.run(command, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"tensortap: without the C kernel, which could not be built: {error}", file=sys.stderr)
        return False
    return True


class WithKernel(build_py):
    """Puts a freshly built kernel beside the modules, and none that lay about; and what attaches at the start of Python."""

    def run(self) -> None:
        super().run()
        root = Path(self.build_lib)
        shutil.copy(BOOT, root / BOOT.name)
        (root / "tensortap.pth").write_text(START)
        target = root / KERNEL
        target.unlink(missing_ok=True)
        compile_kernel(target)


class PlatformWheel(bdist_wheel):
    """For one platform, this one or that of --plat-name, and any Python when the kernel is in it, else for all."""

    def finalize_options(self) -> None:
        super().finalize_options()
        self.root_is_pure = False

    def get_tag(self) -> tuple[str, str, str]:
        built = (Path(self.bdist_dir) / KERNEL).exists()
        return ("py3", "none", super().get_tag()[2] if built else "any")


class WithMachineCode(Distribution):
    """So that the wheel's place is the platform's."""

    def has_ext_modules(self) -> bool:
        return True


setup(
    package_dir={"": str(ROOT)},
    packages=find_packages(str(ROOT), include=["tensortap", "tensortap.*"]),
    cmdclass={"build_py": WithKernel, "bdist_wheel": PlatformWheel},
    distclass=WithMachineCode,
)
