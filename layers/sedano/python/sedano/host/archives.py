"""The archives of histories and landed files, by address, and the leases that belong to them.

`s3://bucket/prefix` is in S3, with its leases in a deployment's control table; any other address is a folder of this machine, which also
has the leases.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from sedano import memory
from sedano.aws.archive import S3Archive
from sedano.aws.client.session import Session
from sedano.aws.leases import DynamoLeases
from sedano.aws.machine import SystemClock, SystemEntropy
from sedano.errors import ConfigurationError
from sedano.memory.folder_archive import FolderArchive, FolderLeases
from sedano.ports import Leases, Ports
from sedano.ports.archive import Archive

S3 = "s3://"
CONTROL_TABLE = "SEDANO_CONTROL_TABLE"
LANDED = (".jsonl", ".jsonl.gz")
"""The suffixes of the names of landed files."""


def archive_at(place: str) -> Archive:
    """Return the archive at *place*; no call is made yet."""
    if place.startswith(S3):
        bucket, _, prefix = place.removeprefix(S3).partition("/")
        return S3Archive(Session().client("s3"), bucket, f"{prefix.rstrip('/')}/" if prefix.strip("/") else "")
    if "://" in place:
        raise ConfigurationError(f"history: {place} cannot be used; give a folder of this machine or s3://bucket/prefix")
    if Path(place).is_file():
        raise ConfigurationError(f"history: {place} is a file; a history needs a folder of its own")
    return FolderArchive(Path(place).resolve())


def ports_at(place: str, environment: Mapping[str, str] = os.environ) -> Ports:
    """Return the ports that a run over the history at *place* needs: its leases, and this machine's clock and randomness.

    Raises:
        ConfigurationError: *place* is in S3 and the environment does not name the control table.
    """
    clock = SystemClock()
    return replace(memory.ports(), leases=_leases(place, clock, environment), clock=clock, entropy=SystemEntropy())


def landed_at(place: str) -> dict[str, str]:
    """Return the mark of every landed file below *place* (or of *place*, if it is one file), by the address that Spark opens.

    Raises:
        ConfigurationError: there is nothing at *place*.
    """
    if "://" in place:
        return _landed(archive_at(place), "")
    path = Path(place).resolve()
    if not path.exists():
        raise ConfigurationError(f"history: there is nothing at {place}; give the folder of the landed *.jsonl and *.jsonl.gz files")
    if path.is_dir():
        return _landed(FolderArchive(path), "")
    if not path.name.endswith(LANDED):
        raise ConfigurationError(f"history: {place} is not a file of events; their names end in .jsonl or .jsonl.gz")
    alone = FolderArchive(path.parent)
    return {alone.place(filed.name): filed.mark for filed in alone.names(path.name) if filed.name == path.name}


def _landed(archive: Archive, prefix: str) -> dict[str, str]:
    return {archive.place(filed.name): filed.mark for filed in archive.names(prefix) if filed.name.endswith(LANDED)}


def _leases(place: str, clock: SystemClock, environment: Mapping[str, str]) -> Leases:
    if not place.startswith(S3):
        return FolderLeases(Path(place).resolve(), clock)
    table = environment.get(CONTROL_TABLE)
    if not table:
        raise ConfigurationError(f"{CONTROL_TABLE}: a history in S3 needs the deployment's control table for its lease; set its name")
    return DynamoLeases(Session().client("dynamodb"), table, clock)
