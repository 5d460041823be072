import pytest
from tests.reports.studies import Folder, run, spec

from guidefbo.canvas import COLOURS
from guidefbo.experiments.notes import note_on
from guidefbo.experiments.results import read_study
from guidefbo.experiments.study_json import MethodNote
from guidefbo.methods.registry import all_methods, find_method
from guidefbo.reports.conditions import Conditions, slug
from guidefbo.reports.contenders import Contender
from guidefbo.reports.families import control_of, is_federated, plain_of
from guidefbo.reports.frame import lay_out
from guidefbo.reports.looks import looks_of
from guidefbo.reports.paper import METHODS, column_of, paper_tables

PACKAGE_METHODS = {method.name: method for method in all_methods()}


def frame_of(folder):
    return lay_out(read_study(folder.save()))


def labels(frame):
    return [who.label for who in frame.contenders]


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
    seldom = Conditions(level=2, exchange_interval=5)
    assert seldom.label == "Level 2, an exchange every 5 rounds"
    assert not seldom.is_papers
    assert Conditions(level=1).is_papers
    assert not other.is_papers


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
    (view,), (who,) = frame.views, frame.contenders
    assert view.finals("ackley", who) == {0: 3.0}
    assert len(view.samples("ackley", who)) == 3
    assert not view.is_complete("ackley", who)
    assert not view.is_complete("levy", who)


@pytest.mark.parametrize("text", ["../../etc/passwd", "<script>", "a/b\\c", "..", ""])
def test_slugs_are_plain(text):
    assert set(slug(text)) <= set("abcdefghijklmnopqrstuvwxyz0123456789-.")
    assert not slug(text).startswith(".")


def contender(method, **settings):
    label = " ".join([method, *(f"{k}={v}" for k, v in settings.items())])
    note = note_on(method)
    return Contender(label=label, method=method, settings=settings, note=note)


def test_notes_name_strategy_and_rule(tmp_path):
    folder = Folder(tmp_path / "s")
    for method in ("guide-nei", "fts-de", "ts", "cgp-ts-grid", "odd"):
        folder.add(spec(method=method))
    notes = [who.note for who in frame_of(folder).contenders]
    assert [note and (note.strategy, note.rule) for note in notes] == [
        ("guide", "nei"),
        ("fts-de", "ts"),
        ("independent", "ts"),
        ("cgp", "ts-grid"),
        None,
    ]


def test_a_method_that_nobody_knows_has_no_partner():
    odd = Contender(label="odd", method="odd")
    assert plain_of(odd, [contender("ucb")]) is None
    assert control_of(odd, [contender("placebo-ucb")]) is None
    assert plain_of(contender("guide-ucb"), [odd]) is None
    assert not is_federated(odd)


@pytest.mark.parametrize(
    ("method", "is_silent"),
    [("trend-ucb", True), ("ucb", False), ("placebo-ucb", False), ("shape-ucb", False)],
)
def test_who_exchanges_nothing_is_not_federated(method, is_silent):
    """A lone model of its own is neither plain nor a control."""
    assert note_on(method).is_silent == is_silent
    assert is_federated(contender(method)) == (method == "shape-ucb")


def test_partners_have_the_same_beta():
    ucb4, ucb2 = contender("ucb"), contender("ucb", beta=2.0)
    guide, guide2 = contender("guide-ucb"), contender("guide-ucb", beta=2.0)
    placebo = contender("placebo-ucb")
    everyone = [ucb2, ucb4, guide, guide2, placebo]
    assert plain_of(guide, everyone) is ucb4
    assert plain_of(guide2, everyone) is ucb2
    assert control_of(guide, everyone) is placebo
    assert control_of(guide2, everyone) is None
    assert plain_of(contender("fts"), everyone) is None


def test_partners_have_the_same_rule():
    everyone = [contender("ts"), contender("ts-grid"), contender("ucb")]
    ts, grid, _ = everyone
    assert plain_of(contender("fts"), everyone) is ts
    assert plain_of(contender("fts-as-run"), everyone) is grid
    assert plain_of(contender("cgp-ts-grid"), everyone) is grid
    # Nobody runs expected improvement alone.
    assert plain_of(contender("fmtbo"), everyone) is None


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
    everyone = {
        "guide": contender("guide-ucb"),
        "consensus": contender("consensus-ucb"),
        "own": contender("consensus-ucb", aim="own"),
        "placebo": contender("placebo-ucb"),
        "ucb": contender("ucb"),
    }
    found = [name for name, who in everyone.items() if is_federated(who)]
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
def test_notes_hold_the_settings_and_defaults_of_the_package(method):
    """Partners are told by the settings that both have, at their values or defaults."""
    note = note_on(method.name)
    known = method.run_settings
    assert note.settings == {name: known[name].default for name in known}
    assert (note.strategy, note.rule) == (method.strategy.name, method.rule.name)
    assert (note.is_plain, note.is_control) == (
        method.strategy.is_plain,
        method.strategy.is_control,
    )
    assert note.alone == method.strategy.alone
    assert note.alone.keys() <= known.keys()


def test_what_partners_share():
    """A plain rule has the model's, the search's and its own settings, no others."""
    of_all = {"fit", "num_raw", "num_starts", "num_iterations"}
    of_rule = {"ts": {"num_features"}, "ucb": {"beta"}, "nei": {"num_fantasies"}}
    of_rule |= {"ts-grid": {"num_points"}}
    of_control = {"intervention", "schedule", "max_strength", "starts"}
    for rule, own in of_rule.items():
        plain = find_method(rule).run_settings.keys()
        control = find_method(f"placebo-{rule}").run_settings.keys()
        assert plain == of_all | own
        assert control == plain | of_control
        for strategy, shared in (
            ("guide", of_control),
            ("consensus", {"intervention", "max_strength"}),
            ("cgp", set()),
        ):
            settings = find_method(f"{strategy}-{rule}").run_settings.keys()
            assert settings >= plain
            assert settings & of_control == shared


def test_the_papers_columns():
    assert column_of(contender("ucb")) == "ucb"
    assert column_of(contender("ucb", beta=2.0)) == "ucb"
    assert column_of(contender("ucb", beta=1.0)) is None
    assert column_of(contender("guide-ucb", beta=2.0)) is None
    assert column_of(contender("fts-as-run")) == "fts"
    assert column_of(contender("fts-as-run", num_points=7)) is None
    assert column_of(contender("cgp-ts-grid")) == "cgp-ts"
    assert column_of(contender("placebo-ucb")) is None
    assert column_of(Contender(label="ucb", method="ucb")) is None


def test_every_method_of_the_paper_has_its_column():
    columns = {name: column_of(contender(name)) for name in PACKAGE_METHODS}
    assert {name: columns[name] for name in METHODS} == {name: name for name in METHODS}
    as_run = {name: c for name, c in columns.items() if c not in (None, name)}
    assert as_run == {
        "fts-as-run": "fts",
        "fts-de-as-run": "fts-de",
        "fmtbo-as-run": "fmtbo",
        **{f"{s}ts-grid": f"{s}ts" for s in ("", "cgp-", "guide-")},
    }


def test_defaults_are_those_of_the_papers_scans():
    """Where the paper varied a setting, its usual value is our default."""
    defaults = note_on("guide-ucb").settings
    paper = paper_tables()["sensitivity_level3_guide_ucb"]
    for name in ("num_paths", "packet_size", "max_strength", "merge_threshold"):
        assert float(defaults[name]) in set(map(float, paper[name]))
    assert {name: defaults[name] for name in ("beta", *paper)} == {
        "beta": 4.0,
        "num_paths": 500,
        "packet_size": 5,
        "max_strength": 1.0,
        "merge_threshold": 0.05,
    }


def look(looks, who):
    return looks[who]["color"], str(looks[who]["linestyle"])


def test_no_two_contenders_look_the_same():
    named = [*METHODS, "placebo-ucb", "consensus-ucb", "fts-as-run", "ts-grid"]
    who = [contender(name) for name in named]
    who += [Contender(label=f"v{n}", method="ucb", variant=f"v{n}") for n in range(9)]
    looks = looks_of(who)
    assert len({look(looks, w) for w in who}) == len(who)
    ordered = [contender("ucb", beta=2), who[10]]
    assert looks_of(ordered)[who[10]]["color"] == looks[who[10]]["color"]


def test_the_colour_tells_the_strategy_and_the_dash_the_rule():
    who = [contender(name) for name in ("guide-ucb", "guide-nei", "ucb", "nei", "fts")]
    looks = looks_of(who)
    guide, guide_nei, ucb, nei, fts = (look(looks, w) for w in who)
    assert guide[0] == guide_nei[0] == COLOURS[note_on("guide-ucb").colour]
    assert ucb[0] == nei[0] != guide[0]
    assert (guide[1], guide_nei[1]) == (ucb[1], nei[1])
    assert fts[1] == "-"


@pytest.mark.parametrize("colour", ["octarine", None, "red"])
def test_a_colour_that_is_unknown_or_taken_is_replaced(colour):
    note = MethodNote(strategy="s", rule="ucb", colour=colour, dash="wavy")
    mine = Contender(label="mine", method="s-ucb", note=note)
    who = [contender("guide-ts"), contender("guide-ucb"), contender("ucb"), mine]
    looks = looks_of(who)
    assert len({look(looks, w) for w in who}) == len(who)
