import pytest
from tests.reports.studies import Folder, run, spec

from guidefbo.experiments.results import read_study
from guidefbo.methods.catalog import METHODS as PACKAGE_METHODS
from guidefbo.methods.settings import Settings
from guidefbo.methods.uses import used_settings
from guidefbo.reports.families import (
    control_of,
    is_federated,
    known_settings,
    plain_of,
    strategy_and_rule,
)
from guidefbo.reports.frame import Conditions, Contender, lay_out, slug
from guidefbo.reports.looks import looks_of
from guidefbo.reports.paper import DEFAULTS, METHODS, method_behind, total_hours


def frame_of(folder):
    return lay_out(read_study(folder.save()))


def labels(frame):
    return [who.label for who in frame.contenders()]


def test_settings_are_named_only_where_rows_of_a_method_differ(tmp_path):
    folder = Folder(tmp_path / "s")
    folder.add(spec(method="ucb"))
    folder.add(spec(method="ucb", settings={"beta": 2.0}))
    folder.add(spec(method="guide-ucb", settings={"num_paths": 100}))
    assert labels(frame_of(folder)) == ["ucb", "ucb beta=2", "guide-ucb"]


def test_a_variant_names_its_column(tmp_path):
    folder = Folder(tmp_path / "s")
    folder.add(spec(method="guide-ucb"), variant="full")
    folder.add(spec(method="guide-ucb", settings={"merging": "none"}), variant="bare")
    folder.add(spec(method="guide-ucb", settings={"beta": 1}), variant="bare")
    assert labels(frame_of(folder)) == ["full", "bare", "bare (guide-ucb beta=1)"]


def test_conditions_say_what_is_not_the_papers():
    assert Conditions(level=1).label == "Level 1"
    other = Conditions(level=3, common_shift=0.3, noise=0.5, noise_units="raw", dim=4)
    assert other.label == "Level 3, common shift 0.3, noise 0.5 raw, d = 4"
    assert Conditions(level=1).is_papers
    assert not other.is_papers
    assert not Conditions(num_rounds=20).is_papers_size
    assert Conditions(common_shift=0.3).is_papers_size


def test_levels_of_one_kind_stand_together(tmp_path):
    folder = Folder(tmp_path / "s")
    for shift in (0.3, 0.0):
        for level in (2, 1):
            folder.add(spec(common_shift=shift, level=level))
    found = [c.label for c in frame_of(folder).conditions]
    assert found == [
        "Level 1",
        "Level 2",
        "Level 1, common shift 0.3",
        "Level 2, common shift 0.3",
    ]


def test_specs_of_any_shape_are_laid_out(tmp_path):
    folder = Folder(tmp_path / "s")
    folder.add({})
    folder.add({"problem": None, "level": [1], "seed": {"a": 1}, "settings": 5})
    folder.add({"problem": "p", "level": "high", "settings": {"b": [1], "a": None}})
    frame = frame_of(folder)
    assert len(frame.conditions) == 3
    assert len({c.slug for c in frame.conditions}) == 3


def test_the_three_states_of_a_run(tmp_path):
    folder = Folder(tmp_path / "s")
    folder.add(spec(seed=0), run(3.0))
    folder.add(spec(seed=1), error="boom")
    folder.add(spec(seed=2))
    frame = frame_of(folder)
    (conditions,), (who,) = frame.conditions, frame.contenders()
    assert frame.finals(conditions, "ackley", who) == {0: 3.0}
    assert len(frame.samples(conditions, "ackley", who)) == 3
    assert not frame.is_complete(conditions, "ackley", who)
    assert not frame.is_complete(conditions, "levy", who)


@pytest.mark.parametrize("text", ["../../etc/passwd", "<script>", "a/b\\c", "..", ""])
def test_slugs_are_plain(text):
    assert set(slug(text)) <= set("abcdefghijklmnopqrstuvwxyz0123456789-.")
    assert not slug(text).startswith(".")


def test_names_of_methods():
    assert strategy_and_rule("guide-nei") == ("guide", "nei")
    assert strategy_and_rule("fts-de") == ("fts-de", "ts")
    assert strategy_and_rule("ts") == ("independent", "ts")
    assert strategy_and_rule("odd") == ("odd", "")


def test_partners_have_the_same_beta():
    ucb4 = Contender(label="ucb", method="ucb")
    ucb2 = Contender(label="ucb beta=2", method="ucb", settings={"beta": 2.0})
    guide = Contender(label="guide-ucb", method="guide-ucb")
    guide2 = Contender(label="g2", method="guide-ucb", settings={"beta": 2.0})
    placebo = Contender(label="placebo-ucb", method="placebo-ucb")
    everyone = [ucb2, ucb4, guide, guide2, placebo]
    assert plain_of(guide, everyone) is ucb4
    assert plain_of(guide2, everyone) is ucb2
    assert control_of(guide, everyone) is placebo
    assert control_of(guide2, everyone) is None
    fts = Contender(label="fts", method="fts")
    assert plain_of(fts, everyone) is None


def contender(method, **settings):
    label = " ".join([method, *(f"{k}={v}" for k, v in settings.items())])
    return Contender(label=label, method=method, settings=settings)


def test_partners_share_what_the_study_sets_for_all():
    common = {"num_paths": 20, "num_raw": 50}
    ucb, placebo, guide = (
        contender(name, **common) for name in ("ucb", "placebo-ucb", "guide-ucb")
    )
    everyone = [ucb, placebo, guide]
    assert plain_of(guide, everyone) is ucb
    assert control_of(guide, everyone) is placebo
    # The same with what ucb has no use for left out.
    bare = contender("ucb", num_raw=50)
    assert plain_of(guide, [bare, guide]) is bare
    # Another search is another run of the plain rule, another number of paths is not.
    assert plain_of(guide, [contender("ucb", num_paths=20)]) is None
    assert plain_of(guide, [contender("ucb", num_paths=500, num_raw=50)]) is not None


def test_who_exchanges_something():
    """Not the plain rules, nor the two controls."""
    own = {"aim": "own"}
    federated = {
        "guide": Contender(label="guide", method="guide-ucb"),
        "consensus": Contender(label="consensus", method="consensus-ucb"),
        "own": Contender(label="own", method="consensus-ucb", settings=own),
        "placebo": Contender(label="placebo", method="placebo-ucb"),
        "ucb": Contender(label="ucb", method="ucb"),
    }
    found = [name for name, who in federated.items() if is_federated(who)]
    assert found == ["guide", "consensus"]


def test_the_partner_with_the_fewest_differences_is_taken():
    few, many = contender("ucb", num_paths=100), contender("ucb", num_paths=1000)
    guide = contender("guide-ucb", num_paths=1000)
    assert plain_of(guide, [few, many]) is many
    weak, strong = contender("placebo-ucb"), contender("placebo-ucb", max_strength=2.0)
    assert control_of(contender("guide-ucb", max_strength=2.0), [weak]) is None
    assert control_of(contender("guide-ucb"), [strong, weak]) is weak
    # cgp has no strength: any control will do, one at the default rather.
    assert control_of(contender("cgp-ucb"), [strong, weak]) is weak
    assert control_of(contender("cgp-ucb"), [strong]) is strong


def test_a_default_that_is_written_out_is_the_default():
    assert plain_of(contender("guide-ucb", beta=4.0), [contender("ucb")]) is not None


@pytest.mark.parametrize("method", PACKAGE_METHODS.values(), ids=PACKAGE_METHODS)
def test_settings_shared_with_partners_are_the_packages(method):
    partners = {method.rule, f"placebo-{method.rule}"} & PACKAGE_METHODS.keys()
    for name in partners:
        used = used_settings(PACKAGE_METHODS[name])
        assert known_settings(name) == used
        assert known_settings(name) & known_settings(method.name) == used & (
            used_settings(method)
        )


def test_the_papers_columns():
    assert method_behind("ucb", {}) == "ucb"
    assert method_behind("ucb", {"beta": 2.0}) == "ucb"
    assert method_behind("ucb", {"beta": 1.0}) is None
    assert method_behind("guide-ucb", {"beta": 2.0}) is None
    assert method_behind("fts", {"mode": "as-run"}) == "fts"
    assert method_behind("placebo-ucb", {}) is None


def test_defaults_are_the_packages():
    settings = Settings()
    assert {name: getattr(settings, name) for name in DEFAULTS} == dict(DEFAULTS)


def test_the_papers_hours():
    assert total_hours() == pytest.approx(340.0, abs=1.0)


def test_no_two_contenders_look_the_same():
    named = [*METHODS, "placebo-ucb", "consensus-ucb"]
    who = [Contender(label=name, method=name) for name in named]
    who += [Contender(label=f"v{n}", method="ucb", variant=f"v{n}") for n in range(9)]
    looks = looks_of(who)
    assert len({(k["color"], str(k["linestyle"])) for k in looks.values()}) == len(who)
    ordered = [Contender(label="ucb beta=2", method="ucb"), who[10]]
    assert looks_of(ordered)[who[10]]["color"] == looks[who[10]]["color"]
