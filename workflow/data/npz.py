"""Arrays out of .npz archives that may be damaged, or made to take all memory."""

from typing import Any

import numpy as np
import numpy.typing as npt

MOST_IN_A_BYTE = 1032
"""Bytes that Deflate packs into one, at most."""

_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


def read_member(stored: "np.lib.npyio.NpzFile", name: str) -> npt.NDArray[Any]:
    """Read an array, once it is clear that its archive can hold as much as it announces.

    numpy takes the memory that a header asks for before it looks for the data.

    Parameters
    ----------
    stored : NpzFile
    name : str

    Raises
    ------
    ValueError
        If the array cannot be that large. What else is wrong with an archive makes zipfile and
        numpy raise almost any exception.
    """
    archive = stored.zip
    assert archive is not None  # as long as the file is open
    file = name if name in archive.namelist() else f"{name}.npy"
    packed = archive.getinfo(file).compress_size
    with archive.open(file) as member:
        version = np.lib.format.read_magic(member)
        if version not in _HEADERS:
            raise ValueError(f"{name} has a header of version {version}")
        shape, _, dtype = _HEADERS[version](member)
    announced = int(np.prod(shape, dtype=object)) * dtype.itemsize
    if announced > MOST_IN_A_BYTE * packed:
        raise ValueError(f"{name} announces {announced} bytes, but has {packed} in the file")
    array: npt.NDArray[Any] = stored[name]
    return array
