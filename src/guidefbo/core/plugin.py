"""A user's Python file: its text, which travels to workers, and the module it makes.

It is code of the person who names it, and runs as such.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from guidefbo.core.checks import shown
from guidefbo.core.errors import FedBOError, SettingsError
from guidefbo.core.files import InputError, read_file

MAX_BYTES = 1 << 20
"""Longest file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plugin:
    """The text of a user's Python file."""

    name: str
    """The file, as it was named."""
    source: str
    """Its code."""

    @classmethod
    def read(cls, path: Path, what: str = "plugin") -> "Plugin":
        """Return the text of a file.

        Args:
            path: The file.
            what: What it is called in errors.
        """
        try:
            source = read_file(path, MAX_BYTES).decode("utf-8")
        except InputError as error:
            raise SettingsError(f"Cannot read the {what} {path}: {error}.") from error
        except UnicodeDecodeError as error:
            raise SettingsError(f"The {what} {path} is not text: {error}.") from error
        return cls(name=str(path), source=source)

    @property
    def digest(self) -> str:
        """Fingerprint of the code."""
        return sha256(self.source.encode()).hexdigest()[:12]

    @property
    def packages(self) -> dict[str, str]:
        """Versions of the packages that the file names in PACKAGES, by name.

        What they compute is part of what the file computes.
        """
        names: Any = getattr(self.load(), "PACKAGES", ())
        if not isinstance(names, list | tuple) or not all(
            isinstance(name, str) for name in cast(Sequence[Any], names)
        ):
            raise SettingsError(
                f"PACKAGES of {self.name} must be a list of names of installed "
                f"packages, got {shown(names)}."
            )
        return {name: _version(name) for name in cast(Sequence[str], names)}

    def load(self) -> ModuleType:
        """Run the code and return its module; once a process."""
        name = f"guidefbo_plugin_{self.digest}"
        module = sys.modules.get(name)
        return self._run(name) if module is None else module

    def _run(self, name: str) -> ModuleType:
        module = ModuleType(name)
        module.__file__ = self.name
        # Dataclasses look their module up while they are made.
        sys.modules[name] = module
        try:
            exec(compile(self.source, self.name, "exec"), vars(module))
        except (Exception, SystemExit) as error:
            del sys.modules[name]
            kind = "" if isinstance(error, FedBOError) else f"{type(error).__name__}: "
            raise SettingsError(
                f"{self.name}{self._line_of(error)} cannot be loaded: {kind}{error}"
                f"{self.advice(error)}"
            ) from error
        return module

    def advice(self, error: BaseException) -> str:
        """Return what to do where a module beside the file was not found.

        Only the text of the file travels to workers, and only it is part of a run's
        key, so that modules beside it are not looked for.
        """
        name = error.name if isinstance(error, ModuleNotFoundError) else None
        if name is None:
            return ""
        folder, stem = Path(self.name).parent, name.partition(".")[0]
        beside = [folder / f"{stem}.py", folder / stem / "__init__.py"]
        if not any(path.is_file() for path in beside):
            return ""
        return (
            f". {stem} lies beside it, and only the text of the file itself is run, "
            "here and in workers. Put what it needs into the file, or install "
            f"{stem} as a package and name that: PACKAGES = [{stem!r}]"
        )

    def _line_of(self, error: BaseException) -> str:
        trace = error.__traceback__
        line = error.lineno if isinstance(error, SyntaxError) else None
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == self.name:
                line = trace.tb_lineno
            trace = trace.tb_next
        return "" if line is None else f", line {line},"


def _version(package: str) -> str:
    try:
        return version(package)
    except (PackageNotFoundError, ValueError):
        return "not installed"
