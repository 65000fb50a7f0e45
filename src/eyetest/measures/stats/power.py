"""What a paired comparison can see: the smallest difference it would find, and the items that takes.

For right and wrong answers this is the power of McNemar's test with continuity correction, after Connor: under no
difference the wins of A less those of B among n items vary with n × discordance, under a difference δ with
n × (discordance − δ²). Items that share clusters count for as many independent ones as they are worth.
"""

from math import ceil, sqrt

from scipy import special


def smallest_difference(n: float, discordance: float, power: float = 0.8, level: float = 0.95) -> float | None:
    """The smallest difference of two accuracies that n independent items would find with this power.

    ``discordance`` is the share of items that one model gets right and the other wrong. None where even a difference
    of all of it would not be found.
    """
    if n <= 0 or discordance <= 0:
        return None
    chance, found = _quantiles(power, level)
    edge = 1 + chance * sqrt(n * discordance)
    root = n**2 * discordance + found**2 * n * discordance - edge**2
    if root < 0:
        return None
    difference = (edge + found * sqrt(root / n)) / (n + found**2)
    return difference if difference <= discordance else None


def items_needed(difference: float, discordance: float, power: float = 0.8, level: float = 0.95) -> int | None:
    """The independent items that find a difference of two accuracies with this power.

    None where there is no difference, or a larger one than so much discordance allows.
    """
    if not 0 < abs(difference) <= discordance <= 1:
        return None
    chance, found = _quantiles(power, level)
    reach = chance * sqrt(discordance) + found * sqrt(discordance - difference**2)
    return ceil(((reach + sqrt(reach**2 + 4 * abs(difference))) / (2 * abs(difference))) ** 2 - 1e-9)


def smallest_shift(error: float, clusters: int, power: float = 0.8, level: float = 0.95) -> float | None:
    """The smallest difference of two mean scores that a paired t test with this standard error would find."""
    if clusters < 2 or error <= 0:
        return None
    freedom = clusters - 1
    return error * float(special.stdtrit(freedom, (1 + level) / 2) + special.stdtrit(freedom, power))


def _quantiles(power: float, level: float) -> tuple[float, float]:
    return float(special.ndtri((1 + level) / 2)), float(special.ndtri(power))
