"""What may a call that changes the authority say, and what is it answered?"""

from typing import Annotated, Self

from pydantic import Field, model_validator

from evidence.access import Label
from evidence.errors import InvalidSource
from evidence.grants import Dimension, Grant, Subject, Token
from evidence.identity import PUBLIC, Namespace
from evidence.label_record import parse_label
from server.errors import Invalid
from server.request_fields import MAX_VALUES, Closed, Name
from server.responses import Shape
from server.scope import GRANTABLE

Names = Annotated[list[Name], Field(max_length=MAX_VALUES)]


class AccessBody(Closed):
    """A whole label, as the `access` of a source record: public or a tenant's, and what restricts it (R3)."""

    public: bool = Field(False, description="whether everybody may see it whom the lists admit")
    tenant: Name | None = Field(None, description="... or only this tenant's principals")
    roles: Names = Field([], description="any of these; none restricts nothing")
    purposes: Names = Field([], description="any of these")
    regions: Names = Field([], description="any of these")
    cases: Names = Field([], description="any of these")

    def label(self) -> Label:
        """The label that is stated. Raises Invalid when none is."""
        try:
            return parse_label(self.model_dump(), path="$")
        except InvalidSource as error:
            raise Invalid(error.problem, path=error.path) from None


class GrantBody(Closed):
    """What a subject was granted: exactly one of role, purpose, region, case, scope."""

    subject: Name = Field(description="whose grant it is")
    role: Name | None = Field(None, description="a role; `user:` and the subject is the one that it holds by itself")
    purpose: Name | None = Field(None, description="a purpose")
    region: Name | None = Field(None, description="a region")
    case: Name | None = Field(None, description="a case")
    scope: Name | None = Field(None, description="a scope of tokens")

    @model_validator(mode="after")
    def _one_of(self) -> Self:
        if len(self._given()) != 1:
            raise ValueError("exactly one of role, purpose, region, case, scope is needed")
        if self.scope is not None and self.scope not in GRANTABLE:
            raise ValueError(f"no such scope; allowed: {', '.join(GRANTABLE)}")
        return self

    def grant(self, namespace: Namespace | None) -> Grant:
        """The grant, of the subject in `namespace`."""
        ((dimension, value),) = self._given()
        return Grant(namespace, self.subject, dimension, value)

    def _given(self) -> list[tuple[Dimension, str]]:
        stated = ((dimension, getattr(self, dimension.value)) for dimension in Dimension)
        return [(dimension, value) for dimension, value in stated if value is not None]


class RevocationBody(Closed):
    """What is revoked: a subject, a token, a revision of a source, or a grant. It cannot be taken back."""

    subject: Name | None = Field(None, description="every token of this subject, now and later")
    token_id: Name | None = Field(None, description="the token with this `jti`")
    source_id: Name | None = Field(None, description="with revision: a revision of this source")
    revision: Name | None = Field(None, description="with source_id")
    grant: GrantBody | None = Field(None, description="one grant of one subject, in whichever token it stands")
    public: bool = Field(False, description="in the public namespace, instead of the caller's own")

    @model_validator(mode="after")
    def _one_of(self) -> Self:
        if (self.source_id is None) != (self.revision is None):
            raise ValueError("source_id and revision go together")
        if sum(value is not None for value in (self.subject, self.token_id, self.source_id, self.grant)) != 1:
            raise ValueError("exactly one of subject, token_id, source_id with revision, grant is needed")
        return self

    def of_principal(self, namespace: Namespace | None) -> Subject | Token | Grant | None:
        """What is taken from a principal of `namespace`; None where a revision is meant."""
        if self.subject is not None:
            return Subject(namespace, self.subject)
        if self.token_id is not None:
            return Token(namespace, self.token_id)
        return None if self.grant is None else self.grant.grant(namespace)


class AccessShape(Shape):
    public: bool
    tenant: str | None
    roles: list[str]
    purposes: list[str]
    regions: list[str]
    cases: list[str]


class DeletedAnswer(Shape):
    """What was taken out: gone for everybody when this arrives."""

    namespace: str
    source_id: str
    revisions: int
    units: int


class AccessAnswer(Shape):
    """The label of a source and all its revisions, in force when this arrives."""

    namespace: str
    source_id: str
    access: AccessShape
    revisions: int
    changed: bool


class RevocationAnswer(Shape):
    """What is revoked, in force when this arrives; `changed` is false where it was before."""

    namespace: str
    revoked: str
    changed: bool


def access_record(label: Label) -> dict[str, object]:
    """A label as `AccessBody` takes it."""
    public = label.namespace == PUBLIC
    return {
        "public": public,
        "tenant": None if public else label.namespace,
        "roles": label.roles,
        "purposes": label.purposes,
        "regions": label.regions,
        "cases": label.cases,
    }
