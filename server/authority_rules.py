"""Which rules of the domain may settle a conflict here?"""

from pathlib import Path
from typing import cast

from evidence.authority_rules import NO_RULES, AuthorityRules, parse_authority_rules
from evidence.canonical import Json
from evidence.errors import InvalidAuthorityRules
from evidence.strict_json import InvalidJson, loads
from server.errors import StartError


def load_authority_rules(file: Path | None) -> AuthorityRules:
    """The operator's rules, none without a file. Raises StartError, one line naming file and path."""
    if file is None:
        return NO_RULES
    try:
        return parse_authority_rules(cast("Json", loads(file.read_bytes())))
    except (InvalidJson, InvalidAuthorityRules) as error:
        raise StartError(f"{file}: {error}") from None
    except OSError as error:
        raise StartError(f"{file}: cannot be read: {error.strerror}") from None
