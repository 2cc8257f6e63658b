"""Does the OpenAPI document say what is served?"""

import json
import re
from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from server.app import create_app
from server.keys import load_key
from server.opening import open_recorder
from server.settings import Settings
from tests.worlds import build, opened


@pytest.fixture(scope="module", name="client")
def fixture_client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    directory = tmp_path_factory.mktemp("openapi") / "catalog"
    build(directory, [])
    settings = Settings()
    with opened(directory) as pipeline, open_recorder(pipeline.catalog, settings=settings) as recorder:
        app = create_app(settings, pipeline=pipeline, recorder=recorder, key=load_key(directory))
        with TestClient(app) as client:
            yield client


def test_the_openapi_document_describes_each_route_with_its_body(client: TestClient) -> None:
    document = client.get("/openapi.json").json()

    assert set(document["paths"]) == {
        "/v1/search",
        "/v1/search/batch",
        "/v1/packets",
        "/v1/embeddings",
        "/v1/rerank",
        "/v2/rerank",
        "/v1/catalog",
        "/v1/sources",
        "/v1/sources/{source_id}",
        "/v1/sources/{source_id}/access",
        "/v1/revocations",
        "/v1/manifests/{packet_id}",
        "/v1/manifests/replay",
        "/v1/citations/validate",
        "/v1/citations/read",
        "/v1/audit/{packet_id}",
        "/v1/reviews",
        "/v1/reviews/{review_id}",
        "/health/live",
        "/health/ready",
    }
    for route, body in (("/v1/search", "SearchRequest"), ("/v1/packets", "PacketRequest")):
        schema = document["paths"][route]["post"]["requestBody"]["content"]["application/json"]["schema"]
        assert schema == {"$ref": f"#/components/schemas/{body}"}
        assert "query" in document["components"]["schemas"][body]["properties"]


def test_the_openapi_document_refers_only_to_what_it_holds(client: TestClient) -> None:
    text = client.get("/openapi.json").text
    schemas = json.loads(text)["components"]["schemas"]

    dangling = set(re.findall(r'"\$ref":\s*"([^"]+)"', text)) - {f"#/components/schemas/{name}" for name in schemas}
    assert dangling == set()


def test_every_route_says_which_parameters_its_url_takes_and_what_they_mean(client: TestClient) -> None:
    paths = client.get("/openapi.json").json()["paths"]

    told = {
        f"{method} {path}": {one["name"]: one["schema"].get("description") for one in operation["parameters"]}
        for path, methods in paths.items()
        for method, operation in methods.items()
        if any(one["in"] == "query" for one in operation.get("parameters", ()))
    }
    public = {"public": "in the public namespace, instead of the caller's own"}
    assert {route: {name for name in names if f"{{{name}}}" not in route} for route, names in told.items()} == {
        "get /v1/catalog": {"purpose"},
        "post /v1/sources": {"public"},
        "delete /v1/sources/{source_id}": {"public"},
        "put /v1/sources/{source_id}/access": {"public"},
        "post /v1/revocations": {"public"},
        "get /v1/audit/{packet_id}": {"after", "limit"},
        "get /v1/reviews": {"state", "packet_id", "after", "limit"},
    }
    assert told["post /v1/revocations"] == told["post /v1/sources"] == public
