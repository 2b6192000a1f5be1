"""Are all numbers of a tensor numbers?"""

import torch
from torch import Tensor

from explorer.errors import BadModelFile


def check_finite(tensor: Tensor, parameter: str, file_name: str, stored_name: str) -> None:
    """Raises ``BadModelFile`` naming file, tensor and layer when ``tensor`` holds NaN or infinity.

    ``parameter`` is our name of it. Parameters are read in the order in which data flows, so that the first layer with
    such a number is the one that is named.
    """
    smallest, largest = torch.aminmax(tensor)  # both become NaN if any number is; needs no memory
    if bool(torch.isfinite(smallest)) and bool(torch.isfinite(largest)):
        return
    count = int((~torch.isfinite(tensor)).sum())
    place = f" of layer {parameter.split('.')[1]}" if parameter.startswith("layers.") else ""
    raise BadModelFile(
        f"{file_name}: {count:,} of {tensor.numel():,} numbers of {stored_name}{place} are NaN or infinity, and it is "
        "the first tensor with any",
        "The weights are damaged: download the file again from a source you trust.",
    )
