"""Is there an exported network in the cache, whole and unharmed?

Useful for starting without torch: what verifies here needs no conversion. Not useful for making one: see export.
"""

import json
from pathlib import Path

from evidence.canonical import digest
from models.folder import file_digest
from models.runtime import Network, openvino_name

MODEL_FILE = "network.xml"
WEIGHTS_FILE = "network.bin"
SIDECAR = "digests.json"


def exported_folder(network: Network, *, cache: Path) -> Path:
    """Where `network` lies in `cache` when this release of OpenVINO exported it."""
    name = digest({"network": network.digest, "runtime": openvino_name()}).partition(":")[2]
    return cache / name[:32]


def verifies(folder: Path) -> bool:
    """Whether `folder` holds an export whose files are what its sidecar says. Reads all of them."""
    try:
        digests = json.loads((folder / SIDECAR).read_text("utf-8"))
        found = {name: file_digest(folder / name) for name in (MODEL_FILE, WEIGHTS_FILE)}
    except (OSError, ValueError):
        return False
    return bool(digests == found)
