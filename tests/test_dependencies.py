"""Is every dependency declared, explained, used, and new enough?"""

import ast
import re
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.source_tree import PACKAGES, ROOT, imports, is_of_another_environment, modules, place, tree_of

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

# The first release without the vulnerabilities that we know of. The last two are unused: the floor holds if they come
# along with something else.
FLOORS = {
    "starlette": "1.3.0",
    "torch": "2.10.0",
    "sentence-transformers": "5.5.2",
    "transformers": "5.2.1",
    "joserfc": "1.8.0",
    "pyjwt": "2.15.0",
    "python-multipart": "0.0.27",
}

# What is imported under another name than it is installed under, where the environment may lack it.
MODULES_OF_ABSENT = {"faiss-gpu": "faiss", "faiss-cpu": "faiss", "openvino": "openvino"}


def requirements(extra: str | None = None) -> dict[str, Requirement]:
    """Normalized name -> requirement, of the base install or of one extra."""
    lines = PROJECT["dependencies"] if extra is None else PROJECT["optional-dependencies"][extra]
    return {str(canonicalize_name(one.name)): one for one in map(Requirement, lines)}


def explained() -> dict[str, dict[str, str]]:
    """Section ("" for the base install, else the extra's name) -> package -> reason, from docs/dependencies.md."""
    found: dict[str, dict[str, str]] = {}
    for part in re.split(r"^## ", (ROOT / "docs" / "dependencies.md").read_text(), flags=re.MULTILINE)[1:]:
        title, _, body = part.partition("\n")
        extra = re.fullmatch(r"Extra `(\w+)`", title)
        if extra or title == "Always":
            rows = re.findall(r"^\| `([^`]+)` \| (.+) \|$", body, flags=re.MULTILINE)
            found[extra.group(1) if extra else ""] = {str(canonicalize_name(name)): reason for name, reason in rows}
    return found


def imported_modules(path: Path) -> set[str]:
    """The top-level modules outside the standard library and our packages that a module imports."""
    return {name.partition(".")[0] for _, name in imports(path)} - set(sys.stdlib_module_names) - set(PACKAGES)


def texts(path: Path) -> set[str]:
    """The string constants of a module or a JSON file: a package of data is named instead of imported."""
    if path.suffix == ".json":
        return set(re.findall(r'"([^"]+)"', path.read_text()))
    return {
        node.value for node in ast.walk(tree_of(path)) if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


def distributions_of_modules() -> dict[str, set[str]]:
    """Module -> normalized names of the distributions that provide it here."""
    installed = metadata.packages_distributions()
    found = {module: {str(canonicalize_name(name)) for name in names} for module, names in installed.items()}
    for name, module in MODULES_OF_ABSENT.items():
        found.setdefault(module, set()).add(name)
    return found


@pytest.mark.parametrize("extra", [None, *PROJECT["optional-dependencies"]])
def test_every_requirement_has_a_row_with_a_reason_and_every_row_a_requirement(extra: str | None) -> None:
    rows = explained().get(extra or "", {})

    assert sorted(rows) == sorted(requirements(extra))
    assert [name for name, reason in rows.items() if len(reason.split()) < 3] == []


def test_every_imported_package_is_declared() -> None:
    declared = {name for extra in (None, "cpu", "gpu", "bench") for name in requirements(extra)}
    providers = distributions_of_modules()

    undeclared = [
        f"{place(path)}: {module}"
        for path in modules(*PACKAGES)
        if not is_of_another_environment(path)
        for module in sorted(imported_modules(path))
        if not providers.get(module, set()) & declared
    ]

    assert not undeclared, "\n".join(undeclared)


def test_every_declared_package_is_used() -> None:
    providers = distributions_of_modules()
    declared = {name for extra in (None, "cpu", "gpu", "bench") for name in requirements(extra)}
    entries = [path for name in PACKAGES for path in (ROOT / name).rglob("*.json")]
    used: set[str] = set()
    for path in (*modules(*PACKAGES), *entries):
        imported = set() if path.suffix == ".json" else imported_modules(path)
        for name in imported | (texts(path) & (declared | providers.keys())):
            used |= {name} | providers.get(name, set())

    assert not declared - used, "\n".join(sorted(declared - used))


def test_faiss_comes_with_the_extras_alone_and_never_twice() -> None:
    per_extra = {
        extra: {name for name in requirements(extra) if name.startswith("faiss")}
        for extra in (None, "cpu", "gpu", "bench", "dev")
    }

    assert per_extra == {None: set(), "cpu": {"faiss-cpu"}, "gpu": {"faiss-gpu"}, "bench": set(), "dev": set()}


def test_torch_is_pinned_to_one_release() -> None:
    (specifier,) = requirements()["torch"].specifier

    assert specifier.operator == "=="
    assert "*" not in specifier.version


@pytest.mark.parametrize("name", FLOORS)
def test_no_declared_range_admits_a_release_with_a_known_vulnerability(name: str) -> None:
    """The lowest release that a requirement admits is at or above the floor."""
    for extra in (None, "cpu", "gpu", "dev"):
        requirement = requirements(extra).get(name)
        if requirement is not None:
            lowest = [Version(one.version) for one in requirement.specifier if one.operator in ("==", ">=", "~=", ">")]
            assert lowest, f"{requirement} has no lower bound"
            assert max(lowest) >= Version(FLOORS[name])


@pytest.mark.parametrize("name", FLOORS)
def test_no_installed_release_has_a_known_vulnerability(name: str) -> None:
    installed = [Version(found.version) for found in metadata.distributions(name=name)]

    assert [str(version) for version in installed if version < Version(FLOORS[name])] == []


def test_no_requirement_is_open_above() -> None:
    open_above = [
        str(requirement)
        for extra in (None, "cpu", "gpu")
        for requirement in requirements(extra).values()
        if not any(one.operator in ("==", "<", "<=", "~=") for one in requirement.specifier)
    ]

    assert open_above == []
