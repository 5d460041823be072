"""The official surrogate of FedHPO-Bench, for those who have its archive and trust it.

The archive holds ten random forests a graph, as Python pickles. A pickle can run any
program when it is opened, so that none is opened unless the user says so.

References:
    Z. Wang et al., "FedHPO-Bench: A Benchmark Suite for Federated Hyperparameter
    Optimization", ICML 2023.
"""

import importlib
import os
import re
import warnings
import zipfile
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from guidefbo.core.errors import DataError, SettingsError
from guidefbo.core.files import InputError
from guidefbo.problems.datasets.find import find_dataset

ARCHIVE = "fedhpob_gcn_surrogate.zip"
"""The archive, in the folder of the data set fedhpo and as it was downloaded."""
TRUST = "GUIDEFBO_TRUST_PICKLE"
"""Variable that is 1 where pickles may be opened."""
FULL_PARTICIPATION, LAST_ROUND = 1.0, 499.0
"""The fidelities of the paper: all clients in every round, after the last one."""
NUM_INPUTS = 6
"""Dropout, learning rate, steps, weight decay, share of clients, round."""
MAX_FORESTS = 20
"""Most forests of one graph; the archive has 10."""
MAX_BYTES = 1 << 30
"""Most bytes of one forest, unpacked."""


@dataclass(frozen=True, slots=True)
class Forests:
    """Validation accuracy on one graph: the mean of what its forests predict."""

    models: tuple[Any, ...]
    """Fitted random forests of scikit-learn."""

    def __call__(self, values: dict[str, Any]) -> float:
        """Return the accuracy of a setting."""
        setting = [float(values[name]) for name in ("dropout", "lr", "step", "wd")]
        # In the order of training; the benchmark's own code swaps the last two.
        x = np.array([[*setting, FULL_PARTICIPATION, LAST_ROUND]])
        return float(np.mean([model.predict(x)[0] for model in self.models]))


def is_trusted(trust_pickle: bool | None) -> bool:
    """Whether pickles may be opened: as told, else as the environment says."""
    return os.environ.get(TRUST) == "1" if trust_pickle is None else trust_pickle


def trust_pickles(is_trusted: bool = True) -> None:
    """Say whether this process, and those it starts, may open the pickles."""
    os.environ[TRUST] = str(int(is_trusted))


def read_forests(graphs: tuple[str, ...]) -> list[Forests]:
    """Open the pickles of the archive, with a warning, and return one part a graph.

    Ask `is_trusted` first.
    """
    path = find_dataset("fedhpo") / ARCHIVE
    if not path.is_file():
        raise DataError(
            f"The official archive is not here: {path}. Download {ARCHIVE} from the "
            "address that `guidefbo data list` gives and put it there as it is, or "
            f"take the regenerated table: no trust in pickles, {TRUST} not set."
        )
    try:
        importlib.import_module("sklearn.ensemble")
    except ImportError as error:
        raise SettingsError(
            "The official archive of fedhpo holds forests of scikit-learn, which is "
            "not installed: pip install 'guidefbo[tasks]'."
        ) from error
    warnings.warn(
        f"The pickles in {path} are opened as you said. A pickle can run any program "
        "with your rights: do this only with an archive you trust.",
        stacklevel=3,
    )
    try:
        with zipfile.ZipFile(path) as archive:
            return [_forests(archive, graph) for graph in graphs]
    except (InputError, OSError, zipfile.BadZipFile, zlib.error) as error:
        raise DataError(
            f"Expected {path} to be the zip archive of FedHPO-Bench, but {error}. "
            "Download it again."
        ) from error


def _forests(archive: zipfile.ZipFile, graph: str) -> Forests:
    pattern = re.compile(rf"(?:^|/){graph}/avg/surrogate_model_\d+\.pkl$")
    members = sorted(n for n in archive.namelist() if pattern.search(n))
    if not 1 <= len(members) <= MAX_FORESTS:
        raise InputError(
            f"it holds {len(members)} files {graph}/avg/surrogate_model_NUMBER.pkl, "
            f"and 1 to {MAX_FORESTS} are expected"
        )
    return Forests(tuple(_opened(_content(archive, m), m) for m in members))


def _content(archive: zipfile.ZipFile, member: str) -> bytes:
    with archive.open(member) as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise InputError(f"{member} has more than {MAX_BYTES} bytes")
    return data


def _opened(data: bytes, member: str) -> Any:
    """Open one pickle: the only place of the package that does."""
    # The official models exist in no other form, and the user has said that they may
    # be opened.
    import pickle  # noqa: TID251

    try:
        model = pickle.loads(data)
    except Exception as error:
        # What a pickle ends in may be anything, since it may do anything.
        raise DataError(
            f"{member} cannot be opened: {type(error).__name__}: {error}. It needs a "
            "release of scikit-learn near the one that wrote it."
        ) from error
    inputs = getattr(model, "n_features_in_", getattr(model, "n_features_", None))
    if not callable(getattr(model, "predict", None)) or inputs != NUM_INPUTS:
        raise DataError(
            f"Expected {member} to be a forest with {NUM_INPUTS} inputs, got a "
            f"{type(model).__name__} with {inputs}."
        )
    return model
