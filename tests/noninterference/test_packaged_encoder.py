"""Does the answer hold with the codes of a real model, too? (M1, R6, R10)"""

from pathlib import Path

from anyio.from_thread import BlockingPortal

from server.intake import TextEncoder
from server.pipeline import Pipeline
from tests.noninterference.bench import Bench
from tests.noninterference.building import template
from tests.noninterference.relations import Relation
from tests.noninterference.suite import SUITE

WORLDS = 3  # every text of them is encoded


def test_nothing_that_is_hidden_changes_one_byte_with_the_packaged_model(
    tmp_path: Path, portal: BlockingPortal, sample_pipeline: Pipeline
) -> None:
    encoder: TextEncoder | None = sample_pipeline.encoder
    assert encoder is not None
    empty = template(tmp_path / "template", recipe=sample_pipeline.catalog.recipe)

    SUITE[Relation.M1](Bench(tmp_path / "worlds", template=empty, portal=portal, encoder=encoder), WORLDS)
