"""The database of measured configs."""

import json
from typing import Any, Dict, Optional, Union

from hone import _hone, options
from hone.building import Path
from hone.errors import BadInput
from hone.table import Table

__all__ = ["Tophub", "best"]


class Tophub:
    """The tophub at ``path``; None: the user's. Installed packages are asked for what it does not know."""

    def __init__(self, path: Optional[Path] = None) -> None:
        """Opens nothing yet: each call does."""
        self.path = path

    def _run(self, command, *words, **given):
        """The output of a command of ``tophub``."""
        return _hone.tophub([command, *options.words({**options.plain(db=self.path), **given}, words)])

    def _objects(self, command, **given):
        """The lines of a command with --json, as dicts."""
        return [json.loads(line) for line in self._run(command, json=True, **given).splitlines()]

    def best(self, workload: str, target: str = "llvm") -> Optional[Dict[str, Any]]:
        """The best config known for exactly this workload, or what is nearest, as a dict; None where there is none."""
        if not workload:
            raise ValueError("the workload is empty")
        try:
            return self._objects("best", workload=workload, target=target)[0]
        except BadInput as e:
            if str(e).startswith("no record of "):  # tophub has no exit code for that alone
                return None
            raise

    def list(self, task: Optional[str] = None, target: Optional[str] = None) -> Table:
        """The best configs, a row each."""
        return Table(self._objects("list", **options.plain(task=task, target=target)))

    def stats(self) -> Union[Dict[str, Any], Table]:
        """Counts of stored rows."""
        found = self._objects("stats")
        return found[0] if len(found) == 1 else Table(found)

    def export(self, path: Path, best_only: bool = False) -> str:
        """Writes the records as JSON lines."""
        return self._run("export", options.path(path), best=best_only)

    def load(self, *paths: Path) -> str:
        """Adds the records of exported files, or AutoTVM's logs as foreign records."""
        return self._run("import", *map(options.path, paths))

    def merge(self, other: Path) -> str:
        """Adds the records of another tophub."""
        return self._run("merge", options.path(other))

    def check(self, repair: bool = False) -> str:
        """Looks for damage. Raises hone.DatabaseError where there is any."""
        return self._run("check", repair=repair)

    def train(self, target_kind: str = "llvm") -> str:
        """Makes a prior of the trials: what searches begin with."""
        return self._run("train", target_kind=target_kind)

    def __repr__(self):
        """Whose database it is."""
        return f"<hone.Tophub {self.path or 'of the user'}>"


def best(workload: str, target: str = "llvm", db: Optional[Path] = None) -> Optional[Dict[str, Any]]:
    """Tophub(db).best(workload, target)."""
    return Tophub(db).best(workload, target)
