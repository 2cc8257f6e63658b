"""Where does a device find the blocks of rows that queries see?

`visible_blocks`, brought to the device in one copy and looked up there, for all queries at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from index.visible_blocks import Blocks

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SeenBlocks:
    """`Blocks` on a device, int64.

    sights: (sights,), query * widest + column, for the first column of each. shifts: (sights,), from a column there to
    its block.
    """

    run_places: torch.Tensor
    run_rows: torch.Tensor
    run_sizes: torch.Tensor
    sights: torch.Tensor
    shifts: torch.Tensor
    widths: torch.Tensor
    widest: int

    @classmethod
    def of(cls, blocks: Blocks, device: torch.device) -> "SeenBlocks":
        """The blocks on the device."""
        run_places, run_rows, run_sizes, sights, shifts, widths = sent(
            [
                blocks.run_places,
                blocks.run_rows,
                blocks.run_sizes,
                blocks.seen_by * blocks.widest + blocks.seen_column,
                blocks.bounds[blocks.seen_part] - blocks.seen_column,
                blocks.widths,
            ],
            device,
        )
        return cls(
            run_places=run_places,
            run_rows=run_rows,
            run_sizes=run_sizes,
            sights=sights,
            shifts=shifts,
            widths=widths,
            widest=blocks.widest,
        )

    def rows(self, places: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The rows at these places and whether there is one; where there is none, the last row of the same part."""
        run = torch.searchsorted(self.run_places, places, right=True) - 1
        into, last = places - self.run_places[run], self.run_sizes[run] - 1
        return self.run_rows[run] + torch.minimum(into, last), into <= last

    def blocks(self, queries: torch.Tensor, columns: torch.Tensor) -> torch.Tensor:
        """The blocks in these columns of these queries."""
        sight = torch.searchsorted(self.sights, queries * self.widest + columns, right=True) - 1
        return columns + self.shifts[sight]


def sent(arrays: Sequence[Ints], device: torch.device) -> Sequence[torch.Tensor]:
    """The arrays on the device, (n,) int64 each, by one copy that nobody waits for."""
    together = pinned(np.concatenate(arrays), device).to(device, non_blocking=True)
    return torch.split(together, [len(array) for array in arrays])


def pinned(array: npt.NDArray[np.generic], device: torch.device) -> torch.Tensor:
    """The array in memory that a GPU reads by itself; as it is where there is none."""
    tensor = torch.from_numpy(array)
    return tensor.pin_memory() if device.type == "cuda" and array.size else tensor
