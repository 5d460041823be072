"""Small data sets of the tests, and the command that fetches one of them."""

import hashlib
import sys

from guidefbo.problems.datasets import registry
from guidefbo.problems.datasets.record import Archive, DataFile, Dataset

CONTENT = b"".join(hashlib.sha256(bytes([n])).digest() for n in range(256)) * 32
"""A quarter of a megabyte that does not repeat at once."""
PAIR = {"a/x.txt": b"1 2 3\n" * 50, "b/y.txt": b"4\n" * 20}


def file_of(name, data, address=None, **changes):
    digest = hashlib.sha256(data).hexdigest()
    return DataFile(
        name=name, size=len(data), sha256=digest, address=address, **changes
    )


def dataset(files, name="small", **changes):
    about = {
        "text": "Numbers.",
        "task": "none",
        "num_agents": 2,
        "address": "https://example.org/about",
        "licence": "MIT",
        "sharing": "Yes.",
        "citation": "Nobody, 2020.",
    }
    return Dataset(name=name, files=files, **about | changes)


def single(address):
    """A set of one file at an address."""
    return dataset([file_of("data.bin", CONTENT, address)])


def packed(address, name="pair.zip", **changes):
    """A set of two files in an archive at an address."""
    archive = Archive(address=address, name=name, inner="Pair of files", **changes)
    files = [file_of(name, data) for name, data in PAIR.items()]
    return dataset(files, archives=[archive])


def register(*sets):
    registry.DATASETS = {dataset.name: dataset for dataset in sets}


if __name__ == "__main__":
    # In a process of its own: fetch the single file from the address given.
    from guidefbo.problems.datasets.fetch import fetch_dataset

    register(single(sys.argv[1]))
    print(fetch_dataset("small"), flush=True)
