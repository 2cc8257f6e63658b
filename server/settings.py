"""What can an operator set, and what happens when they do not?

Read once at start, from the environment (`MUNIMENT_…`) and an optional TOML file; the environment wins.
An unknown key is an error: a setting that is written down and not used would be a trap.
"""

import os
import tomllib
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path

from pydantic import Field, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from server.errors import StartError


class DeviceChoice(StrEnum):
    """Where tensors live."""

    AUTO = "auto"
    CPU = "cpu"
    CUDA = "cuda"


class ProductChoice(StrEnum):
    """What computes dense scores; every choice gives the same integers."""

    AUTO = "auto"
    TORCH = "torch"
    FAISS = "faiss"
    COMPILED = "compiled"


class Settings(BaseSettings):
    """Every setting, with its default and unit."""

    model_config = SettingsConfigDict(env_prefix="MUNIMENT_", frozen=True, extra="forbid")

    host: str = Field("127.0.0.1", description="address to listen on")
    port: int = Field(8000, ge=0, le=65535, description="port to listen on; 0 takes a free one")
    admin_port: int | None = Field(
        None,
        ge=0,
        le=65535,
        description="port on 127.0.0.1 that serves /metrics; none unless given, 0 takes a free one",
    )
    device: DeviceChoice = Field(DeviceChoice.AUTO, description="auto, cpu or cuda; chosen once at start")
    dense_product: ProductChoice = Field(
        ProductChoice.AUTO,
        description="auto, torch, faiss or compiled; on a CPU auto takes compiled for few queries at once, for many"
        " torch where its self-test holds, else faiss; on a GPU torch",
    )
    gather_searches: bool = Field(
        True, description="false gives each dense search a pass of its own, also where others wait; same answers"
    )
    gather_queries: bool = Field(
        False,  # 64 clients on two cores got 0.88 to 1.08 times the answers with it
        description="true encodes queries of callers that wait at the same time in one pass; same answers",
    )
    approximate_above: int | None = Field(
        None,
        ge=0,
        description="usable units above which dense search is approximate, and answers say so (`degraded`); never"
        " unless given",
    )
    approximate_oversampling: int = Field(
        20, ge=1, le=1000, description="units that approximate search scores exactly for each candidate wanted"
    )
    dense: bool = Field(True, description="false switches the dense channel off; answers say so (`degraded`)")
    lexical: bool = Field(True, description="false switches the lexical channel off; answers say so (`degraded`)")
    reranker: str = Field("late-interaction", description="late-interaction, or the registry name of a cross-encoder")
    models_dir: Path | None = Field(None, description="folder of your own registry entries, looked into first")
    models_file: Path | None = Field(
        None, description="JSON file of the model profiles that requests may name as `model`"
    )
    tokenizer_folders: tuple[Path, ...] = Field(
        (), description="folders with a tokenizer.json that requests may name as hf:PATH, in this spelling"
    )
    cache_dir: Path | None = Field(
        None, description="folder for exported networks; the user's cache folder unless given"
    )
    query_classes_dir: Path | None = Field(
        None, description="folder of your own query classes; one of a shipped name replaces it"
    )
    authority_rules: Path | None = Field(
        None, description="JSON file of the rules that may settle conflicts, and of who owns which family"
    )
    rerank_depth: int = Field(20, ge=1, le=200, description="candidates that a request with `rerank` reranks")
    max_query_bytes: int = Field(8192, ge=1, description="UTF-8 bytes of a query")
    max_query_terms: int = Field(256, ge=1, description="analyzed terms of a query")
    max_body_bytes: int = Field(1 << 20, ge=1, description="bytes of a request body")
    max_sources_bytes: int = Field(16 << 20, ge=1, description="bytes of a body of sources")
    max_k: int = Field(200, ge=1, le=1000, description="largest k of a request")
    max_batch_hits: int = Field(10_000, ge=1, description="hits that the searches of one call may want, all together")
    max_broad_units: int = Field(20_000, ge=1, description="units that a broad packet may select")
    max_running: int = Field(4, ge=1, description="requests worked on at once")
    max_running_per_tenant: int = Field(2, ge=1, description="requests of one tenant worked on at once")
    max_waiting: int = Field(256, ge=0, description="requests that may wait for a place, all tenants together")
    max_waiting_per_tenant: int = Field(64, ge=0, description="requests of one tenant that may wait or run")
    records_max_runs: int = Field(100_000, ge=1, description="answers of a namespace that stay on record")
    records_max_days: int = Field(90, ge=1, le=36_500, description="days for which an answer stays on record")
    max_waiting_sources: int = Field(16, ge=0, description="bodies of sources that may wait, all tenants together")
    max_waiting_sources_per_tenant: int = Field(4, ge=1, description="bodies of sources of one tenant that wait or run")
    allowed_hosts: tuple[str, ...] = Field(("*",), description="Host header names that are served; * is any")
    log_level: str = Field("info", pattern="^(debug|info|warning|error)$", description="least level that is logged")

    @property
    def cache(self) -> Path:
        """Where exported networks are kept."""
        return self.cache_dir or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "muniment"

    def overridden(self, said: Mapping[str, object]) -> "Settings":
        """These settings with others on top. Raises StartError naming the first wrong one."""
        return _validated({**self.model_dump(), **said})


def load_settings(config: Path | None = None) -> Settings:
    """The settings of the environment over those of the TOML file. Raises StartError naming the first wrong one."""
    try:
        if config is not None and config.exists() and not config.is_file():
            raise StartError(f"{config}: not a regular file")
        written = {} if config is None else tomllib.loads(config.read_text())
    except UnicodeDecodeError:
        raise StartError(f"{config}: is not UTF-8") from None
    except OSError as error:
        raise StartError(f"{config}: cannot be read ({error.strerror})") from None
    except tomllib.TOMLDecodeError as error:
        raise StartError(f"{config}: no valid TOML: {error}") from None
    unknown = sorted(set(written) - set(Settings.model_fields))
    if unknown:
        raise StartError(f"{config}: unknown setting {unknown[0]!r}; allowed: {', '.join(Settings.model_fields)}")
    try:
        from_environment = Settings().model_dump(exclude_unset=True)
    except ValidationError as error:
        raise _first_of(error) from None
    return _validated({**written, **from_environment})


def _validated(values: Mapping[str, object]) -> Settings:
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        raise _first_of(error) from None


def _first_of(error: ValidationError) -> StartError:
    first = error.errors()[0]
    return StartError(f"setting {'.'.join(map(str, first['loc']))}: {first['msg']}")
