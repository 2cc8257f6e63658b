"""Where does the sample catalog lie that ships with Muniment, and which question shows it best?"""

import json
from pathlib import Path

_SAMPLE = Path(__file__).with_name("sample")
SOURCES = _SAMPLE / "sources.jsonl"
PRINCIPALS = _SAMPLE / "principals"


def demo_request() -> tuple[str, dict[str, object]]:
    """The name of the principal who asks, and the body of `POST /v1/packets`."""
    queries = [json.loads(line) for line in (_SAMPLE / "queries.jsonl").read_text("utf-8").splitlines()]
    chosen = next(query for query in queries if query.get("demo"))
    return chosen["principal"], {"query": chosen["query"], **chosen["request"]}
