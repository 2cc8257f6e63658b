"""How many of a thing are there, in words? (pure)"""


def counted(number: int, thing: str) -> str:
    """The number and the thing, which stands in the singular for one.

    >>> counted(1, "unit"), counted(0, "unit")
    ('1 unit', '0 units')
    """
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
