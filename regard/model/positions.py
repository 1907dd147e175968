"""Position encodings: attention is over a set, so order must be added."""

import torch
from torch import Tensor, nn

from regard.errors import ConfigError


def sinusoids(places: Tensor, width: int) -> Tensor:
    """The paper's waves (section 3.5): sine in the first half of the vector, cosine in the second.

    places (T,), where there are doubles -> (T, D). The order of the halves is Marian's; the paper interleaves them.
    """
    rates = 10_000 ** -(torch.arange(0, width, 2, dtype=torch.float64, device=places.device) / width)  # (D/2,)
    angles = places.double()[:, None] * rates  # (T, D/2)
    return torch.cat([angles.sin(), angles.cos()], dim=-1).float()  # (T, D)


def point_sinusoids(points: Tensor, width: int) -> Tensor:
    """The same waves for places in a plane or in space: each coordinate has an equal part of the vector.

    points (T, n), of n coordinates that need not be whole -> (T, D). The dot product of two such vectors depends on
    their distance along each coordinate alone. width must be a multiple of 2n.
    """
    count = points.shape[-1]
    if width % (2 * count):
        raise ConfigError(f"width={width} cannot be shared by the sines and cosines of {count} coordinates; "
                          f"it must be a multiple of {2 * count}")  # fmt: skip
    return torch.cat([sinusoids(one, width // count) for one in points.unbind(dim=-1)], dim=-1)  # (T, D)


def grid_points(rows: int, columns: int) -> Tensor:
    """Row and column of each cell of an image, row by row: (rows * columns, 2)."""
    return torch.cartesian_prod(torch.arange(rows), torch.arange(columns))


FIRST, MOST_FIRST = 8192, 2**22  # places and numbers a table has at first, at most; it grows with the texts


class Sinusoidal(nn.Module):
    """Adds the paper's sinusoids; the table grows with the texts."""

    table: Tensor

    def __init__(self, width: int, places: int) -> None:
        super().__init__()
        places = min(places, FIRST, MOST_FIRST // width)
        self.register_buffer("table", sinusoids(torch.arange(places, device="cpu"), width), persistent=False)

    def forward(self, x: Tensor, start: int = 0) -> Tensor:
        """x (B, T, D), whose first token is at position `start` -> (B, T, D)."""
        end, table = start + x.shape[1], self.table  # another thread may make another table meanwhile
        if end > len(table):
            self.table = table = sinusoids(torch.arange(2 * end), x.shape[-1]).to(x.device)
        return x + table[start:end].to(x.dtype)


class Learned(nn.Module):
    """Adds a learned vector for each position, up to a fixed number."""

    def __init__(self, width: int, places: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.randn(places, width) * 0.02)  # (places, D)

    def forward(self, x: Tensor, start: int = 0) -> Tensor:
        """x (B, T, D), whose first token is at position `start` -> (B, T, D)."""
        end = start + x.shape[1]
        if end > len(self.table):
            raise ConfigError(f"position {end} was asked for, but only {len(self.table)} were learned; give fewer")
        return x + self.table[start:end]


class Rotary(nn.Module):
    """Rotates queries and keys by an angle that grows with their position: their product depends on distance only."""

    cosines: Tensor
    sines: Tensor

    def __init__(self, head_width: int, places: int, base: float = 10_000.0) -> None:
        super().__init__()
        # Not learned, so never without values: also where weights are left out until they are read (device "meta").
        self.rates = base ** -(torch.arange(0, head_width, 2, dtype=torch.float64, device="cpu") / head_width)  # (K/2,)
        self.register_buffer("cosines", torch.empty(0, device="cpu"), persistent=False)  # (places, K/2)
        self.register_buffer("sines", torch.empty(0, device="cpu"), persistent=False)  # (places, K/2)
        self._grow(min(places, FIRST, MOST_FIRST // head_width))

    def rotate(self, x: Tensor, start: int = 0) -> Tensor:
        """x (B, H, T, K), whose first token is at position `start` -> (B, H, T, K)."""
        end = start + x.shape[2]
        cosines, sines = self.cosines, self.sines  # another thread may make others meanwhile
        if end > min(len(cosines), len(sines)):
            cosines, sines = self._grow(2 * end)
        cosines, sines = cosines[start:end], sines[start:end]  # (T, K/2)
        first, second = x.chunk(2, dim=-1)  # (B, H, T, K/2) each
        return torch.cat([first * cosines - second * sines, second * cosines + first * sines], dim=-1)

    def forward(self, x: Tensor, start: int = 0) -> Tensor:
        """Returns the embeddings unchanged: rotary positions are applied inside attention."""
        return x

    def _grow(self, places: int) -> tuple[Tensor, Tensor]:
        angles = torch.arange(places, dtype=torch.float64, device="cpu")[:, None] * self.rates  # (places, K/2)
        cosines, sines = (wave.float().to(self.cosines.device) for wave in (angles.cos(), angles.sin()))
        self.cosines, self.sines = cosines, sines
        return cosines, sines
