"""Options that say the same are known as such however they are written; others are not."""

import pytest

from eyetest.harden.options.guards import same_option

SAME = {
    "0.5": ("1/2", "50 %", "5e-1", r"$\frac12$", r"\(\dfrac{1}{2}\)"),
    **{"1,000": ("1000",), "five": ("5",), "1 : 2": ("3:6",), "−5": ("-5",), "2.5 million": ("2,500,000",)},
    **{"1 km": ("1000 m",), "60 min": ("1 h",), "2 kW": ("2000 W",), "36 km/h": ("10 m/s",), "5": ("5 cm",)},
    **{"1 m^2": ("10000 cm^2",), "20 °C": ("293.15 K",), "1 year": ("12 months",), "The cat.": ("cat",)},
    **{r"\text{cat}": ("CAT",), "caf\u00e9": ("cafe\u0301",)},
}
DIFFERENT = [
    *(("0.5", "5"), ("5 m", "5 cm"), ("5 kg", "5 m"), ("12:30", "12.30"), ("2:15", "2:45"), ("1.5", "15")),
    *(("-5", "5"), ("5!", "5"), ("2x", "2y"), ("0.3", "0.4"), ("A*", "A"), ("cat", "cats and dogs")),
    ("Figure 5", "5"),
]


@pytest.mark.parametrize(("one", "other"), [(one, other) for one, others in SAME.items() for other in others])
def test_the_same_in_another_writing(one: str, other: str) -> None:
    assert same_option(one, other)
    assert same_option(other, one)


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_what_differs_is_not_the_same(one: str, other: str) -> None:
    assert not same_option(one, other)
