"""Tests of `evidence/ranking.py`: what retrieval hands over."""

from evidence.layers import Layer
from evidence.ranking import LayerDigests
from tests.builders import candidates, retrieval
from tests.evidence.disputes import keys


def test_the_ranked_units_are_the_selected_then_the_capped_then_the_others() -> None:
    first, second, third, fourth = candidates("1", "2", "3", "4")
    found = retrieval([third, first], capped=keys([fourth]), unselected=keys([second]))

    assert list(found.candidates()) == keys([third, first, fourth, second])


def test_retrieval_states_the_layers_before_assembly_and_no_other() -> None:
    record = LayerDigests(policy="p", corpus="c", query="q").record()

    assert list(record) == [layer for layer in Layer if layer not in (Layer.PACKING, Layer.RENDERING)]
    assert (record["query"], record["rerank"]) == ("q", None)
