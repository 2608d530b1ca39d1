"""Places for backups that tests start themselves: a volume, an S3 server on this machine, a git repository."""

from __future__ import annotations

import subprocess
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path

KINDS = ("volume", "s3", "git")


@dataclass
class Spot:
    """One empty place: its name, and what the environment needs to reach it."""

    kind: str
    name: str
    folder: Path | None = None
    environment: dict[str, str] = field(default_factory=dict)


def s3_environment(url: str) -> dict[str, str]:
    return {
        "AWS_ENDPOINT_URL": url,
        "AWS_ACCESS_KEY_ID": "AKIATESTTESTTESTTEST",
        "AWS_SECRET_ACCESS_KEY": "not-a-secret-of-anyone",
        "AWS_REGION": "us-east-1",
    }


def make_bucket(url: str, name: str) -> None:
    urllib.request.urlopen(urllib.request.Request(f"{url}/{name}", method="PUT")).close()


def make_repository(folder: Path) -> str:
    subprocess.run(["git", "init", "-q", "--bare", str(folder)], check=True)
    return f"git:{folder}#conductor"


def spot(kind: str, folder: Path, s3: str) -> Spot:
    """A new place of a kind; `s3` is the address of the server."""
    if kind == "volume":
        return Spot(kind, str(folder / "volume" / "memory"), folder / "volume" / "memory")
    if kind == "git":
        return Spot(kind, make_repository(folder / "repository.git"), folder / "repository.git")
    bucket = f"bucket-{abs(hash(str(folder))) % 10**12}"
    make_bucket(s3, bucket)
    return Spot(kind, f"s3://{bucket}/memory", None, s3_environment(s3))
