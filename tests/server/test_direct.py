"""Tests of `server/direct.py`: routes of a fixed path are answered at once, the others by the framework."""

from fastapi import APIRouter, FastAPI
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.testclient import TestClient

from server.direct import Direct, endpoints_of

router = APIRouter()


@router.get("/fixed")
async def fixed(request: Request) -> Response:
    return PlainTextResponse("framework" if "route" in request.scope else "direct")


@router.get("/named/{name}")
async def named(request: Request, name: str) -> Response:
    return PlainTextResponse(f"framework {name}")


def client() -> TestClient:
    app = FastAPI(redirect_slashes=False)
    app.include_router(router)
    app.add_middleware(Direct, endpoints=endpoints_of([router]))
    return TestClient(app)


def test_a_route_of_a_fixed_path_is_answered_without_the_framework() -> None:
    assert client().get("/fixed").text == "direct"


def test_a_route_with_a_name_in_its_path_is_left_to_the_framework() -> None:
    assert client().get("/named/one").text == "framework one"


def test_another_method_or_path_is_left_to_the_framework() -> None:
    assert client().post("/fixed").status_code == 405
    assert client().get("/fixed/").status_code == 404
    assert client().get("/Fixed").status_code == 404


def test_what_is_answered_at_once_is_in_the_openapi_document() -> None:
    assert set(client().get("/openapi.json").json()["paths"]) == {"/fixed", "/named/{name}"}
