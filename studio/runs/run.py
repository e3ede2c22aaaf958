"""A stored run, and the checksum that proves that it is what was stored."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import secrets
from datetime import UTC, datetime
from typing import Any

__all__ = ["Run", "canonical", "new_id", "sha256"]


def new_id() -> str:
    """Return an id for a run: random, for it stands in addresses and must not be guessed from another."""
    return secrets.token_urlsafe(12)


@dataclasses.dataclass(frozen=True)
class Run:
    """What the list of runs knows of one run.

    Attributes
    ----------
    id : str
        Unguessable.
    owner : str
        Whose it is: nobody else sees it.
    created : datetime
        In UTC, to the microsecond.
    page : str
        The page that made it, such as "Consensus".
    method : str
        Class name of the estimator.
    dataset, digest : str
        Name of the data set, and `HetData.digest()` of the data as trained on.
    status : str
        "training", then "finished", "stopped" or "failed"; "interrupted" where its process ended before it.
    name : str
        Given by the person, else empty.
    settings : dict
        JSON-able: "params", "operations", what else the page needs to open it again.
    results : dict
        JSON-able: metrics, weights, rounds, seconds.
    blobs : dict
        SHA-256 of what is stored beside the run, by kind ("history", "predictions", "model", "contributions",
        "additions", "staged", "rounds"); the store fills it in.
    """

    owner: str
    page: str
    method: str
    dataset: str
    digest: str = ""
    status: str = "finished"
    name: str = ""
    settings: dict[str, Any] = dataclasses.field(default_factory=dict)
    results: dict[str, Any] = dataclasses.field(default_factory=dict)
    blobs: dict[str, str] = dataclasses.field(default_factory=dict)
    id: str = dataclasses.field(default_factory=new_id)
    created: datetime = dataclasses.field(default_factory=lambda: datetime.now(UTC))

    def row(self) -> dict[str, str]:
        """Return the run as texts, with their checksum; no text has a NUL, which PostgreSQL does not take."""
        texts = {
            "id": self.id,
            "owner": self.owner,
            # In UTC with all digits, so that the texts sort as the times do.
            "created": self.created.astimezone(UTC).isoformat(timespec="microseconds"),
            "page": self.page,
            "method": self.method,
            "dataset": self.dataset,
            "digest": self.digest,
            "status": self.status,
            "name": self.name,
            "settings": canonical(self.settings),
            "results": canonical(self.results),
            "blobs": canonical(self.blobs),
        }
        # Replaced before the checksum is made, or the row would not match it.
        texts = {name: text.replace("\x00", "\ufffd") for name, text in texts.items()}
        return texts | {"checksum": _checksum(texts)}

    @classmethod
    def from_row(cls, row: dict[str, str]) -> Run | None:
        """Return the run of a row, None if the row is not what was stored."""
        texts = {name: value for name, value in row.items() if name != "checksum"}
        if _checksum(texts) != row["checksum"]:
            return None
        # Only once the checksum holds: damaged JSON would raise instead of being left out.
        created = datetime.fromisoformat(texts.pop("created"))
        parts = {name: json.loads(texts.pop(name)) for name in ("settings", "results", "blobs")}
        return cls(**texts, **parts, created=created)


def sha256(content: bytes) -> str:
    """Return the SHA-256 of a block in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def canonical(value: Any) -> str:
    """Return JSON with one spelling for one value; numbers that are not finite become null."""
    # Sorted, so that equal settings have equal text, and so an equal digest.
    return json.dumps(_plain(value), sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "item"):  # a NumPy number
        value = value.item()
    # JSON has no NaN; Python would write one that no other reader takes.
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return None
    return value if value is None or isinstance(value, str | int | float) else str(value)


def _checksum(texts: dict[str, Any]) -> str:
    # ASCII only and with names: text encodings of databases and swapped columns both show.
    spelled = json.dumps([[name, texts[name]] for name in sorted(texts)], ensure_ascii=True, default=repr)
    return sha256(spelled.encode())
