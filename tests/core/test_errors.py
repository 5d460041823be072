import pytest

from guidefbo.core import errors
from guidefbo.core.errors import FedBOError, UnknownNameError, refuse_unknown

NAMES = ["ackley", "griewank", "levy", "rastrigin"]


@pytest.mark.parametrize(
    ("given", "nearest"),
    [("akley", "ackley"), ("ACKLEY", "ackley"), ("grewank", "griewank")],
)
def test_nearest_name_is_suggested(given, nearest):
    with pytest.raises(UnknownNameError) as caught:
        refuse_unknown("problem", given, NAMES)
    text = str(caught.value)
    assert f"There is no problem {given!r}." in text
    assert f"Did you mean {nearest!r}" in text


@pytest.mark.parametrize("given", ["zzz", "", "12345"])
def test_where_nothing_is_near_all_names_are_listed(given):
    with pytest.raises(UnknownNameError) as caught:
        refuse_unknown("problem", given, NAMES)
    assert "Known problems: ackley, griewank, levy, rastrigin." in str(caught.value)


def test_a_name_is_not_suggested_in_its_own_place():
    """As that of an installed record that cannot be loaded."""
    with pytest.raises(UnknownNameError) as caught:
        refuse_unknown("strategy", "beacon", ["beacon", "guide"])
    assert str(caught.value).endswith("Known strategies: guide.")


def test_one_family():
    family = [
        value
        for value in vars(errors).values()
        if isinstance(value, type)
        and issubclass(value, Exception)
        and not issubclass(value, Warning)
    ]
    assert len(family) > 5
    assert all(issubclass(error, FedBOError) for error in family)
