"""What the package gives to who imports it."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tensortap
from tensortap import api
from tensortap._config import tap_settings
from tensortap._config.settings import CHOICES, SETTINGS, Settings


def _described() -> dict[str, str]:
    """Each key of TapSettings with the text that stands below it."""
    (body,) = (node.body for node in ast.walk(ast.parse(inspect.getsource(tap_settings))) if isinstance(node, ast.ClassDef))
    keys = [node.target.id for node in body if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)]
    texts = [node.value.value for node in body[1:] if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)]
    return {key: str(text) for key, text in zip(keys, texts, strict=True)}


def test_tap_is_typed_for_each_setting_that_there_is() -> None:
    assert list(_described()) == list(tap_settings.TapSettings.__annotations__)
    assert sorted(_described()) == sorted(SETTINGS)


def test_each_setting_says_its_default() -> None:
    for name, text in _described().items():
        said = re.search(r"Default: `?(\w+)", text)
        assert said, name
        default = vars(Settings).get(name)
        if name in CHOICES or type(default) is int:
            assert said[1] == str(default), name
        elif type(default) is bool:
            assert said[1] == ("on" if default else "off"), name


def test_every_public_name_is_there_and_no_other() -> None:
    assert tensortap.__all__ == api.__all__
    assert all(getattr(tensortap, name) is getattr(api, name) for name in tensortap.__all__)
    assert issubclass(tensortap.SettingsError, ValueError) and issubclass(tensortap.SpoolError, Exception)
    with pytest.raises(AttributeError, match="no attribute tapp"):
        _ = getattr(tensortap, "tapp")


def test_the_version_is_that_of_the_package() -> None:
    declared = (Path(__file__).parents[1] / "pyproject.toml").read_text()
    assert f'\nversion = "{tensortap.__version__}"\n' in declared


def test_importing_the_package_imports_no_torch() -> None:
    looks = "import sys, tensortap; print(*sorted(name for name in sys.modules if name == 'torch' or name.startswith('tensortap')))"
    found = subprocess.run([sys.executable, "-c", looks], check=True, capture_output=True, text=True).stdout.split()
    assert found == ["tensortap", "tensortap._record", "tensortap._record.noted", "tensortap._record.user_events", "tensortap._stats", "tensortap._stats.built", "tensortap.api"]
