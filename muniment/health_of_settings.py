"""Can the operator's settings be read, and are the files that they name as they must be?"""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from evidence.counted import counted
from muniment.findings import Check, Finding, fail, ok
from server.errors import StartError
from server.settings import Settings, load_settings


def read_settings(config: Path | None) -> Settings | StartError:
    """The settings that a server would start with, or why it would not."""
    try:
        return load_settings(config)
    except StartError as error:
        return error


def settings_checks(read: Settings | StartError) -> Iterator[Check]:
    """What to look at, in order: the settings, and each file or folder that they name."""
    if isinstance(read, StartError):
        yield "settings", partial(fail, str(read))
        return
    yield "settings", partial(_settings, read)
    named: tuple[tuple[str, Callable[[Settings], Finding]], ...] = (
        ("query_classes_dir", _query_classes),
        ("models_file", _profiles),
        ("tokenizer_folders", _tokenizers),
        ("authority_rules", _rules),
    )
    for name, look in named:
        if getattr(read, name):
            yield name, partial(look, read)


def _settings(settings: Settings) -> Finding:
    given = sorted(settings.model_fields_set)
    return ok(f"given: {', '.join(given)}" if given else "all as shipped")


def _query_classes(settings: Settings) -> Finding:
    from server.query_classes import load_query_classes

    return ok(f"{settings.query_classes_dir}; served are {', '.join(load_query_classes(settings.query_classes_dir))}")


def _profiles(settings: Settings) -> Finding:
    from server.profiles import load_profiles

    profiles = load_profiles(settings.models_file, tokenizer_folders=settings.tokenizer_folders)
    return ok(f"{settings.models_file}: {', '.join(profiles) or 'no profile'}")


def _tokenizers(settings: Settings) -> Finding:
    from models.tokens import LOCAL, get_counter

    for folder in settings.tokenizer_folders:
        get_counter(f"{LOCAL}{folder}", allowed=settings.tokenizer_folders)
    return ok(", ".join(map(str, settings.tokenizer_folders)))


def _rules(settings: Settings) -> Finding:
    from server.authority_rules import load_authority_rules

    rules = load_authority_rules(settings.authority_rules)
    return ok(f"{settings.authority_rules}: {counted(len(rules.rules), 'rule')}")
