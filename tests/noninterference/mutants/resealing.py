"""How does an answer get more into its manifest, and is hashed as always? (pure)"""

from collections.abc import Mapping
from dataclasses import replace

from evidence.assembly import Assembled
from evidence.canonical import Json
from evidence.manifest import seal


def resealed(assembled: Assembled, more: Mapping[str, Json]) -> Assembled:
    """The answer with these fields in its manifest, in place of those of the same name."""
    before = {name: value for name, value in assembled.manifest.items() if name != "hashes"}
    hashes = assembled.manifest["hashes"]
    assert isinstance(hashes, Mapping)
    others = {name: value for name, value in hashes.items() if name != "manifest"}
    sealed = seal({**before, **more}, hashes=others)
    return replace(assembled, packet_id=sealed.packet_id, manifest=sealed.record)
