from dataclasses import fields

import pytest

from evidence.canonical import canonical
from index.errors import DamagedCatalog
from index.recipe import Recipe, read_recipe, write_recipe
from tests.index.catalog_builders import recipe


def test_a_recipe_reads_back_as_it_was_written() -> None:
    assert read_recipe(write_recipe(recipe())) == recipe()


@pytest.mark.parametrize("name", [field.name for field in fields(Recipe)])
def test_every_choice_is_in_the_digest(name: str) -> None:
    """R10."""
    record = recipe().record()
    held = record[name]
    other = not held if isinstance(held, bool) else held + 1 if isinstance(held, int) else f"{held}x"

    changed = read_recipe(canonical({**record, name: other}).decode())
    assert changed.digest != recipe().digest


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"encoder": 1}', write_recipe(recipe()) + " "])
def test_a_text_that_is_no_recipe_is_damage(text: str) -> None:
    with pytest.raises(DamagedCatalog):
        read_recipe(text)
