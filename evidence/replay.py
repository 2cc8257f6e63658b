"""Does an answer made again equal the one that a manifest describes, and where does it first differ? (pure)

Layers are compared in the order of the work: what differs first is the reason for all that differs after it (R32).
"""

from collections.abc import Mapping
from dataclasses import dataclass

from evidence.canonical import Json, digest
from evidence.errors import InvalidManifest, NotCanonical
from evidence.layers import Layer
from evidence.manifest import SCHEMA


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """`layer` is the first layer that differs, None where the answers are identical."""

    layer: Layer | None

    def record(self) -> dict[str, Json]:
        return {"verdict": "identical"} if self.layer is None else {"verdict": "differs", "layer": self.layer.value}


def check_manifest(manifest: object) -> Mapping[str, Json]:
    """The manifest, once it is shown to be one that was sealed here: a schema of ours, and its own hash right.

    Raises InvalidManifest. That a manifest is whole says nothing of who may replay it: scope comes from elsewhere.
    """
    if not isinstance(manifest, Mapping) or manifest.get("schema") != SCHEMA:
        raise InvalidManifest("schema", f"is no manifest of the schema {SCHEMA}")
    hashes, layers = manifest.get("hashes"), manifest.get("layers")
    if not isinstance(hashes, Mapping) or set(hashes) != {"semantic", "rendered", "manifest"}:
        raise InvalidManifest("hashes", "must hold semantic, rendered and manifest")
    if not isinstance(layers, Mapping) or set(layers) != set(Layer):
        raise InvalidManifest("layers", f"must hold {', '.join(Layer)}")
    unsealed = {name: value for name, value in hashes.items() if name != "manifest"}
    try:
        sealed = digest({**manifest, "hashes": unsealed})
    except NotCanonical as error:
        raise InvalidManifest("hashes.manifest", f"is the hash of no record: {error}") from None
    if sealed != hashes["manifest"]:
        raise InvalidManifest("hashes.manifest", "is not the hash of this manifest: it was changed")
    return manifest


def compare(recorded: Mapping[str, Json], again: Mapping[str, Json]) -> Verdict:
    """Where `again` first differs from `recorded`; both are whole manifests.

    Raises InvalidManifest where every layer is the same and the manifests are not: layers say all that a manifest
    says, so these belong to another one, and were put into this one by hand.
    """
    before, now = _object(recorded, "layers"), _object(again, "layers")
    first = next((layer for layer in Layer if before[layer] != now[layer]), None)
    if first is None and _object(recorded, "hashes") != _object(again, "hashes"):
        raise InvalidManifest("layers", "are not the layers of this manifest: it was changed")
    return Verdict(layer=first)


def _object(manifest: Mapping[str, Json], name: str) -> Mapping[str, Json]:
    value = manifest[name]
    assert isinstance(value, Mapping), f"{name} of a whole manifest is an object"
    return value
