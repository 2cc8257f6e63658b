"""How is OpenVINO imported without its usage reports?

Importing it as it comes sends an event to an analytics service and writes an id into the user's home folder, and so
does its `convert_model`. Without its telemetry package it falls back to a stub that does nothing.
"""

import importlib
import sys
from types import ModuleType

_TELEMETRY = "openvino_telemetry"


def import_openvino(module: str = "openvino") -> ModuleType:
    """OpenVINO, or the module of it that is named, with its telemetry package out of reach for this process.

    Takes 0.2 s the first time. Raises ModuleNotFoundError where OpenVINO is not installed.
    """
    sys.modules.setdefault(_TELEMETRY, None)  # type: ignore[arg-type]  # None makes importing it fail, as documented
    return importlib.import_module(module)
