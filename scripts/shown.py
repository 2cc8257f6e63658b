"""Do the documents show what the commands print now?

`python scripts/shown.py` runs every command that a document shows, in order, and puts the digests, ids and scores that
are printed now in place of those shown; on which codes of the encoder they stand goes to `tests/shown_codes.json`. What
differs in anything else is named and left for a person, and the exit status is 1. With `--check` nothing is written,
and the exit status is 1 as well where a digest is not the one shown. It needs the environment of `make setup`, and some
minutes.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # for `tests`, which is in no package that is installed

from tests.shown_commands import agrees, refreshed  # noqa: E402 - after the path
from tests.shown_courses import CODES_FILE, COURSES, Course, Ran  # noqa: E402 - after the path


def main() -> int:
    """Bring the documents up to date, or with `--check` only look."""
    parser = argparse.ArgumentParser(description="Bring the digests that the documents show up to date.")
    parser.add_argument("--check", action="store_true", help="write nothing; name what differs")
    check = parser.parse_args().check
    course = Course(root=ROOT)
    stale, wrong = 0, 0
    bases = {}
    with tempfile.TemporaryDirectory() as made:
        sample = Path(made) / "sample"
        course.make_sample(sample)
        for number, documents in enumerate(COURSES):
            folder = Path(made) / str(number)
            folder.mkdir()
            with course.shell(folder, sample=sample) as shell:
                for document in documents:
                    ran = list(course.run(document, shell))
                    wrong += named(document, ran)
                    stale += renewed(ROOT / document, ran, write=not check)
            bases[documents[0]] = asdict(course.basis)
    if not check:
        (ROOT / CODES_FILE).write_text(json.dumps(bases, indent=2) + "\n", "utf-8")
    said = "are stale" if check else "renewed"
    sys.stdout.write(f"{stale} outputs {said}, {wrong} differ in more than digests and scores\n")
    return int(wrong > 0 or (check and stale > 0))


def named(document: str, ran: Sequence[Ran]) -> int:
    """Name the commands that print something else than is shown; how many they are."""
    wrong = [one for one in ran if not agrees(one.command.shown, one.printed.text)]
    for one in wrong:
        sys.stdout.write(f"{document}:{one.command.line}: {one.command.text}\nprints\n{one.printed.text}\n")
    return len(wrong)


def renewed(path: Path, ran: Sequence[Ran], *, write: bool) -> int:
    """How many outputs hold digests or scores that are not printed any more. `write`: put in those that are."""
    lines = path.read_text("utf-8").splitlines(keepends=True)
    count = 0
    for one in ran:
        shown = one.command.shown
        now = refreshed(shown, one.printed.text)
        if now == shown:
            continue
        count += 1
        sys.stdout.write(f"{path.relative_to(ROOT)}:{one.command.output}: {one.command.text}\n")
        first = one.command.output - 1
        lines[first : first + shown.count("\n")] = now.splitlines(keepends=True)
    if write and count:
        path.write_text("".join(lines), "utf-8")
    return count


if __name__ == "__main__":
    sys.exit(main())
