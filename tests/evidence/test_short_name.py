"""The short name of a record."""

import hashlib
import re

from evidence.short_name import pattern_of, short_name


def test_it_is_the_first_eighty_bits_of_the_digest_in_crockfords_base_32() -> None:
    bits = bin(int.from_bytes(hashlib.sha256(b'["a"]').digest(), "big"))[2:].zfill(256)[:80]
    alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

    assert short_name("CG-", ["a"]) == "CG-" + "".join(alphabet[int(bits[at : at + 5], 2)] for at in range(0, 80, 5))


def test_the_pattern_of_a_prefix_is_that_of_its_names() -> None:
    assert all(re.fullmatch(pattern_of("CG-"), short_name("CG-", number)) for number in range(200))
    for other in ("CG-0123456789ABCDE", "CG-0123456789ABCDEFG", "CG-0123456789ABCDEI", "EV-0123456789ABCDEF"):
        assert re.fullmatch(pattern_of("CG-"), other) is None


def test_equal_records_share_it_and_others_do_not() -> None:
    assert short_name("X-", {"a": 1, "b": 2}) == short_name("X-", {"b": 2, "a": 1})
    assert short_name("X-", {"a": 1}) != short_name("X-", {"a": 2})
