"""To which layer of the work does each part of a manifest belong, and what is the digest of each layer? (pure)

Two answers with equal layers have equal manifests: every field is in one layer, and a field that nobody assigned is
part of packing. So a replay that finds no layer to differ has found nothing to differ (R32).
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum

from evidence.canonical import Json, digest
from evidence.ranking import LayerDigests


class Layer(StrEnum):
    """The layers of a replay, in the order of the work."""

    POLICY = "policy"  # who asks, with which grants, for what purpose, under which access policy
    CORPUS = "corpus"  # what is visible, and the index recipe
    QUERY = "query"  # what is asked for, and what the channels made of it
    ELIGIBILITY = "eligibility"  # what of the corpus is usable, and for how long around now
    CANDIDATES = "candidates"  # what each channel offered
    FUSION = "fusion"
    RERANK = "rerank"
    PACKING = "packing"  # conflicts, duplicates, requirements, who stayed and why
    RENDERING = "rendering"  # what was written, for whom, and what it measured


LAYER_OF: Mapping[str, Layer] = {
    "scope_digest": Layer.POLICY,
    "request.purpose": Layer.POLICY,
    "catalog_version": Layer.CORPUS,
    "recipe": Layer.CORPUS,
    "request.query": Layer.QUERY,
    "request.k": Layer.QUERY,
    "request.strategy": Layer.QUERY,
    "request.source_id": Layer.QUERY,
    "request.public": Layer.QUERY,
    "request.search": Layer.QUERY,
    "request.catalog_version": Layer.QUERY,
    "strategy.name": Layer.QUERY,
    "strategy.k": Layer.QUERY,
    "strategy.parameters.query": Layer.QUERY,
    "request.use": Layer.ELIGIBILITY,
    "request.as_of": Layer.ELIGIBILITY,
    "request.subject": Layer.ELIGIBILITY,
    "request.filter": Layer.ELIGIBILITY,
    "epoch": Layer.ELIGIBILITY,
    "valid": Layer.ELIGIBILITY,
    "stats_scope": Layer.CANDIDATES,
    "degraded": Layer.CANDIDATES,
    "strategy.parameters.lexical": Layer.CANDIDATES,
    "strategy.parameters.dense": Layer.CANDIDATES,
    "strategy.parameters.fusion": Layer.FUSION,
    "strategy.parameters.reranker": Layer.RERANK,
    "request.budget": Layer.RENDERING,
    "request.adapter": Layer.RENDERING,
    "request.model": Layer.RENDERING,
    "request.conversation": Layer.RENDERING,
    "request.tool_results": Layer.RENDERING,
    "model": Layer.RENDERING,
    "tokenizer": Layer.RENDERING,
    "template": Layer.RENDERING,
    "packing.attempts": Layer.RENDERING,
    "budget": Layer.RENDERING,
    "inclusions.decision.rendered_span": Layer.RENDERING,
    "inclusions.decision.bytes": Layer.RENDERING,
    "prompt": Layer.RENDERING,
    "transformations": Layer.RENDERING,
    "refusal": Layer.RENDERING,
    "hashes": Layer.RENDERING,
}
"""Path in a manifest -> the layer of everything under it, the lists on the way left out of the path."""

_ABOVE = frozenset(path.rsplit(".", at)[0] for path in LAYER_OF for at in range(1, path.count(".") + 1))


def layer_digests(record: Mapping[str, Json], *, given: LayerDigests) -> dict[str, Json]:
    """One digest for each layer of a manifest without its layers; None for a layer that had nothing to do.

    given: what retrieval says of its layers. Each is of what its layer gave; the record adds by which rules it did.
    """
    before = given.record()
    return {
        layer.value: None if before.get(layer) is None and not any(part.values()) else digest([before.get(layer), part])
        for layer, part in divided(record).items()
    }


def divided(record: Mapping[str, Json]) -> dict[Layer, dict[str, Json]]:
    """Path -> value for each layer, in the order of the layers. Each value is in one of them, whole."""
    parts: dict[Layer, dict[str, Json]] = {layer: {} for layer in Layer}
    for path, value in _assigned(record, ""):
        parts[LAYER_OF.get(path, Layer.PACKING)][path] = value
    return parts


def _assigned(value: Mapping[str, Json], above: str) -> list[tuple[str, Json]]:
    """The value in pieces, each of one layer, with its path. A list is turned into a list for each piece."""
    found: list[tuple[str, Json]] = []
    for name, item in value.items():
        path = f"{above}{name}"
        if path not in _ABOVE:
            found.append((path, item))
        elif isinstance(item, Mapping):
            found.extend(_assigned(item, f"{path}."))
        elif isinstance(item, Sequence) and not isinstance(item, str):
            found.extend(_side_by_side(item, path))
        else:
            found.append((path, item))
    return found


def _side_by_side(items: Sequence[Json], path: str) -> list[tuple[str, Json]]:
    pieces: dict[str, list[Json]] = {}
    for item in items:
        assert isinstance(item, Mapping), f"each item of {path} is an object of the same fields"
        for name, piece in _assigned(item, f"{path}."):
            pieces.setdefault(name, []).append(piece)
    return list(pieces.items())
