"""Which access label does a record state? (pure)"""

from evidence.access import Label
from evidence.errors import InvalidSource
from evidence.identity import PUBLIC, Namespace
from evidence.record_fields import as_boolean, as_name, as_name_set, as_object
from evidence.strict_json import key_path

LABEL_KEYS = ("public", "tenant", "roles", "purposes", "regions", "cases")


def parse_label(access: object, *, path: str) -> Label:
    """The label that an access object states: public, or a tenant's, and restrictions. Raises InvalidSource."""
    fields = as_object(access, path, allowed=LABEL_KEYS, required=())
    public = as_boolean(fields.get("public", False), key_path(path, "public"))
    stated = fields.get("tenant")
    tenant = None if stated is None else as_name(stated, key_path(path, "tenant"))
    if public and tenant is not None:
        raise InvalidSource(key_path(path, "tenant"), "a public record has no tenant")
    if not public and tenant is None:
        raise InvalidSource(path, "neither public nor a tenant's; one of the two is needed")
    if tenant == PUBLIC:
        raise InvalidSource(key_path(path, "tenant"), 'no tenant is called "public"')
    dimensions = {name: as_name_set(fields.get(name, []), key_path(path, name)) for name in LABEL_KEYS[2:]}
    return Label(
        namespace=PUBLIC if tenant is None else Namespace(tenant),
        roles=dimensions["roles"],
        purposes=dimensions["purposes"],
        regions=dimensions["regions"],
        cases=dimensions["cases"],
    )
