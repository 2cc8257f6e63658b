"""What is wrong here, on this machine and with this catalog, and what is to be done?"""

from pathlib import Path
from typing import Annotated

import typer

from muniment.options import ConfigFile, print_json


def run(
    directory: Annotated[Path | None, typer.Argument(metavar="[DIR]", help="also look at this catalog")] = None,
    config: ConfigFile = None,
    as_json: Annotated[bool, typer.Option("--json", help="print the findings as JSON")] = False,
) -> None:
    """Look at everything that Muniment needs: one line each, ok, warn or fail, and what to do.

    Exit status 1 when anything fails. Takes a few seconds; for every checksum of a catalog there is `muniment verify`.

    Example: muniment doctor my-catalog
    """
    from muniment.findings import Status, examine
    from muniment.health_of_catalog import catalog_checks
    from muniment.health_of_machine import machine_checks
    from muniment.health_of_settings import read_settings

    settings = read_settings(config)
    findings = list(examine(machine_checks(settings)))
    if directory is not None:
        findings += examine(catalog_checks(directory, settings))
    if as_json:
        print_json({"findings": [finding.record() for finding in findings]})
    else:
        for finding in findings:
            print(finding.line())
    if any(finding.status is Status.FAIL for finding in findings):
        raise typer.Exit(1)
