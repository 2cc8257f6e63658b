"""What would be answered now to the request that a manifest describes?

The manifest gives the question and nothing else: who asks, and what they may see, comes from the credentials at hand
(R32). The query's code is taken from the sealed record where there is one, so that a device that encodes otherwise
replays the same scores (R10).
"""

from collections.abc import Callable, Mapping
from decimal import Context, Decimal, Inexact
from fractions import Fraction
from typing import Any

import numpy as np

from evidence.access import Principal
from evidence.canonical import digest_bytes
from evidence.errors import InvalidManifest
from evidence.layers import Layer
from evidence.replay import Verdict, check_manifest, compare
from evidence.written_number import MAX_DIGITS, written_number
from server.containment import Told, untold
from server.errors import Forbidden, Invalid, RequestError
from server.parsing import parse
from server.pipeline import Pipeline
from server.requests import TOKENIZER
from server.retrieval import Codes
from server.schemas import PacketRequest

CodeOf = Callable[[str], bytes | None]
"""Packet id -> the code of its query as the sealed record has it, None where there is no such record."""


def replay(
    pipeline: Pipeline, manifest: object, principal: Principal, *, code_of: CodeOf, told: Told = untold
) -> Verdict:
    """Whether the same answer would be given now, and the first layer that differs.

    told: hears of each answer that was looked through. Raises Invalid for what is no manifest, or one that was changed.
    """
    try:
        recorded = check_manifest(manifest)
        request = _request(recorded, pipeline)
        if isinstance(request, Layer):
            return Verdict(layer=request)
        try:
            answer = pipeline.packet(request, principal, code=_code(recorded, pipeline, code_of), told=told)
        except Forbidden:
            return Verdict(layer=Layer.POLICY)  # the purpose is not granted to this principal
        except Invalid as error:
            if error.path != TOKENIZER:
                raise
            return Verdict(layer=Layer.RENDERING)  # the tokenizer is not served here
        again = answer["manifest"]
        assert isinstance(again, Mapping)
        return compare(recorded, again)
    except InvalidManifest as error:
        raise Invalid(error.problem, path=f"$.manifest.{error.path}") from None


def not_configured(manifest: Mapping[str, Any], pipeline: Pipeline) -> str | None:
    """What a manifest that `replay` has judged names, and what the operator's settings do not have; None where they
    have it all."""
    asked = manifest["request"]
    if pipeline.requests.find_class(asked["query_class"]) is None:
        return f"the query class {asked['query_class']!r} is not configured here (setting query_classes_dir)"
    if _lacks_model(asked, pipeline):
        return f"the model profile {asked['model']!r} is not configured here (setting models_file)"
    return None


def _lacks_model(asked: Mapping[str, Any], pipeline: Pipeline) -> bool:
    return asked["model"] is not None and pipeline.requests.find_model(asked["model"]) is None


def _request(recorded: Mapping[str, Any], pipeline: Pipeline) -> PacketRequest | Layer:
    """The request of a manifest; or the layer that differs, where its query class or model is no longer served."""
    asked = recorded["request"]
    try:
        query_class = pipeline.requests.find_class(asked["query_class"])
        if query_class is None:
            return Layer.PACKING
        if _lacks_model(asked, pipeline):
            return Layer.RENDERING
        of_class = {requirement.role for requirement in query_class.required_roles}
        search = asked["search"]
        shared = ("query", "k", "strategy", "source_id", "public", "query_class", "on_overflow", "adapter", "model")
        body = {
            **{name: asked[name] for name in (*shared, "as_of", "use", "purpose", "subject", "catalog_version")},
            "filter": asked["filter"],
            "channel": search["channel"],
            "rerank": search["rerank"],
            "fusion": _fusion(search["fusion"]),
            "requirements": [role for role in asked["requirements"] if role["role"] not in of_class],
            "budget": asked["budget"],
            "conversation": [{"role": turn["role"], "content": turn["content"]} for turn in asked["conversation"]],
            "tool_results": [_tool_result(result) for result in asked["tool_results"]],
        }
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError):
        raise Invalid("describes no request", path="$.manifest.request") from None
    try:
        return parse(body, PacketRequest)
    except RequestError as error:
        raise Invalid(error.detail, path="$.manifest.request") from None


def _fusion(record: Mapping[str, Any]) -> dict[str, Any]:
    """The fusion of a request from its normalized form: a weight is a fraction there, and a decimal in a body."""
    if "dense_weight" not in record:
        return dict(record)
    numerator, _, denominator = record["dense_weight"].partition("/")
    weight = Fraction(int(numerator), int(denominator or 1))  # from integers: in a text, 1e999999999 is a number too
    exactly = Context(prec=MAX_DIGITS, traps=[Inexact])
    return {**record, "dense_weight": exactly.divide(Decimal(weight.numerator), Decimal(weight.denominator))}


def _tool_result(record: Mapping[str, Any]) -> dict[str, Any]:
    rows = [
        [written_number(cell["decimal"]) if isinstance(cell, dict) else cell for cell in row] for row in record["rows"]
    ]
    return {"tool": record["tool"], "columns": record["columns"], "rows": rows}


def _code(recorded: Mapping[str, Any], pipeline: Pipeline, code_of: CodeOf) -> Codes | None:
    """The recorded code of the query, where it is the one that the manifest names and the recipe is still the same."""
    kept = code_of(recorded["hashes"]["manifest"])
    if kept is None:
        return None  # from here on it is a manifest of ours
    query = recorded["strategy"]["parameters"].get("query")
    if query is None or recorded["recipe"]["digest"] != pipeline.catalog.recipe.digest:
        return None
    if digest_bytes(kept) != query["code"] or len(kept) != pipeline.catalog.recipe.dimension:
        return None
    return np.frombuffer(kept, dtype=np.int8)
