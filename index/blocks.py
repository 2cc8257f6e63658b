"""Where does the structure of a text allow a cut? (pure)

Reads Markdown (CommonMark and tables); plain text is Markdown without marks. Positions are code points of the text as
it is: line ends of any kind count, nothing is normalized away. A block owns the blank lines after it.

Useful for cutting a text into passages. Not useful for rendering: links, emphasis and the like are never looked at.
Cost is linear in the text; lists and quotes nested deeper than 20 are read as plain paragraphs.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.token import Token

MAX_HEADING_CODE_POINTS = 200  # longer is a paragraph that happens to stand on a line of dashes
MAX_OPENING_CODE_POINTS = 600  # of headings that must not stand alone; longer is a table of contents
_LINE_END = re.compile(r"\r\n?|\n")  # what CommonMark calls a line ending
_LISTS = frozenset({"bullet_list_open", "ordered_list_open"})
_BY_LINES = frozenset({"fence", "code_block", "html_block", "table_open"})
_OTHERS = frozenset({"list_item_open", "blockquote_open", "heading_open", "paragraph_open", "hr"})
_KEPT_WHOLE = _LISTS | _BY_LINES
_BLOCKS = _KEPT_WHOLE | _OTHERS


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A stretch of text under one heading path, its headings included.

    content: where the first block after the headings starts; `end` when there is none.
    """

    start: int
    content: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Structure:
    """What is known of a text's blocks.

    sections: tile the text, in order; there is always one.
    headings: (start, heading path from there on), ascending; a path has the outermost heading first.
    cuts: ascending positions, one tuple a depth. Depth 0 is between the blocks of a section, deeper is inside blocks:
    list items, table rows, lines of code, blocks of a quote. None separates a table's head from its first row.
    wholes: (start, end) of tables, lists, code and HTML blocks, from the headings right before them on.
    openings: (start, end) of a section's headings up to the first character of its content, disjoint, ascending: a cut
    after the start, up to and at the end would leave headings alone.
    """

    sections: tuple[Section, ...]
    headings: tuple[tuple[int, tuple[str, ...]], ...]
    cuts: tuple[tuple[int, ...], ...]
    wholes: frozenset[tuple[int, int]]
    openings: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Block:
    """`level` is the heading's, from 1; 0 for blocks that are no heading. `inner`: where lines inside allow a cut."""

    kind: str
    depth: int
    start: int
    end: int
    level: int
    heading: str
    inner: Sequence[int]


def read_structure(text: str) -> Structure:
    """The blocks of `text`.

    >>> structure = read_structure("# A\\n\\none\\n\\ntwo\\n")
    >>> structure.sections, structure.cuts
    ((Section(start=0, content=5, end=14),), ((10,), ()))
    """
    blocks = _read_blocks(text)
    sections, headings, cuts = _sections([block for block in blocks if block.depth == 0], len(text))
    before = {section.content: section.start for section in sections}
    wholes = [block for block in blocks if block.kind in _KEPT_WHOLE]
    return Structure(
        sections=sections,
        headings=headings,
        cuts=(cuts, *_inner_cuts(blocks)),
        wholes=frozenset((before.get(block.start, block.start), block.end) for block in wholes),
        openings=_openings(sections, text),
    )


def _sections(
    blocks: Sequence[_Block], end: int
) -> tuple[tuple[Section, ...], tuple[tuple[int, tuple[str, ...]], ...], tuple[int, ...]]:
    """Sections, headings with their paths, and the cuts between the blocks of a section, of the top-level `blocks`."""
    sections: list[Section] = []
    headings: list[tuple[int, tuple[str, ...]]] = []
    cuts: list[int] = []
    path: list[_Block] = []
    start, content = 0, None
    for block in blocks:
        if block.level:
            if content is not None:
                sections.append(Section(start=start, content=content, end=block.start))
                start, content = block.start, None
            while path and path[-1].level >= block.level:
                path.pop()
            path.append(block)
            headings.append((block.start, tuple(outer.heading for outer in path)))
        elif content is None:
            content = block.start
        else:
            cuts.append(block.start)
    sections.append(Section(start=start, content=end if content is None else content, end=end))
    return tuple(sections), tuple(headings), tuple(cuts)


def _openings(sections: Sequence[Section], text: str) -> tuple[tuple[int, int], ...]:
    openings = []
    for section in sections:
        if section.start < section.content < section.end:
            content = text[section.content : section.end]
            end = section.content + len(content) - len(content.lstrip())
            if end - section.start <= MAX_OPENING_CODE_POINTS:
                openings.append((section.start, end))
    return tuple(openings)


def _inner_cuts(blocks: Sequence[_Block]) -> Iterator[tuple[int, ...]]:
    """Cuts at depth 1, 2, ...: where nested blocks start, and lines of blocks that are cut at lines."""
    cuts: list[list[int]] = []
    for block in blocks:
        while len(cuts) <= block.depth:
            cuts.append([])
        if block.depth:
            cuts[block.depth - 1].append(block.start)
        cuts[block.depth].extend(block.inner)
    return map(tuple, cuts)


def _read_blocks(text: str) -> list[_Block]:
    """Every block in text order, outer before inner. The first starts at 0, each ends where the next outside starts."""
    lines = [0, *(match.end() for match in _LINE_END.finditer(text)), len(text)]
    # Without inline rules, which cuts do not need, and link references, which re-read their paragraph for each one.
    parser = MarkdownIt("commonmark").enable("table").disable(["inline", "reference"])
    tokens = parser.parse(text)
    opened = [(token, after) for token, after in pairwise([*tokens, None]) if token and token.type in _BLOCKS]
    starts = [lines[token.map[0]] if token.map else 0 for token, _ in opened]
    first = starts[0] if starts else 0
    ends = _ends([token.level for token, _ in opened], starts, len(text))
    blocks = []
    for (token, after), start, end in zip(opened, starts, ends, strict=True):
        heading = _heading(token, after)
        blocks.append(
            _Block(
                kind=token.type,
                depth=token.level,
                start=0 if start == first else start,
                end=end,
                level=int(token.tag[1:]) if heading else 0,
                heading=heading,
                inner=_inner_lines(token, text, lines),
            )
        )
    return blocks


def _ends(depths: Sequence[int], starts: Sequence[int], end: int) -> list[int]:
    """For each block where the next one of its depth or less starts; `end` when there is none."""
    ends = [end] * len(starts)
    unfinished: list[int] = []
    for position, depth in enumerate(depths):
        while unfinished and depths[unfinished[-1]] >= depth:
            ends[unfinished.pop()] = starts[position]
        unfinished.append(position)
    return ends


def _heading(token: Token, after: Token | None) -> str:
    """The text of the section heading that `token` opens, on one line; empty for anything else."""
    if token.type != "heading_open" or token.level or after is None:
        return ""
    # reStructuredText writes a line of marks above a heading too; it reaches us as a part of the heading.
    lines = [line for line in after.content.splitlines() if any(map(str.isalnum, line))]
    heading = " ".join(" ".join(lines).split())
    return heading if len(heading) <= MAX_HEADING_CODE_POINTS else ""


def _inner_lines(token: Token, text: str, lines: Sequence[int]) -> Sequence[int]:
    """Where a line inside a block starts that is cut at lines; blank lines stay with the line before them."""
    if token.type not in _BY_LINES or token.map is None:
        return ()
    first, last = token.map
    first += 3 if token.type == "table_open" else 1  # a table's head and rule stay with its first row
    return [start for start, end in pairwise(lines[first : last + 1]) if not text[start:end].isspace()]
