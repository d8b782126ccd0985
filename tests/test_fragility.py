"""How few votes hold up the first places: against exhaustive search, on planted cases, and told by public refits."""

import json
from collections import Counter
from itertools import product

import numpy as np
import pandas as pd
import pytest

import juryrank as jr
from juryrank.cli import run
from juryrank.errors import SettingsError
from juryrank.influence import fragility
from juryrank.influence.units import units


def votes(*won, **columns):
    """Opinions from (item_a, item_b, p_a, how many)."""
    rows = [{"item_a": a, "item_b": b, "p_a": p} | columns for a, b, p, n in won for _ in range(n)]
    return pd.DataFrame(rows)


def drawn(seed, items=6, rows=300, judges=3, groups=20, spread=0.4):
    """Opinions drawn from a model, with judges, groups, ties and both slots."""
    rng = np.random.default_rng(seed)
    strength = rng.normal(0, spread, items)
    a = rng.integers(0, items, rows)
    b = (a + rng.integers(1, items, rows)) % items
    a, b = np.minimum(a, b), np.maximum(a, b)
    p = (rng.random(rows) < 1 / (1 + np.exp(strength[b] - strength[a]))).astype(float)
    tie = rng.random(rows) < 0.1
    return pd.DataFrame(
        {
            "context": np.char.add("c", rng.integers(0, groups, rows).astype(str)),
            "judge": np.char.add("j", rng.integers(0, judges, rows).astype(str)),
            "item_a": np.char.add("i", a.astype(str)),
            "item_b": np.char.add("i", b.astype(str)),
            "p_a": np.where(tie, 0.5, p),
            "status": np.where(tie, "tie", "win"),
            "slot": rng.choice([-1, 1], rows),
        }
    )


def without(frame, change):
    """The frame without the votes that a change removed."""
    weight = frame["weight"].to_numpy(float) if "weight" in frame else np.ones(len(frame))
    weight = weight.copy()
    weight[change.removed["row"]] -= change.removed["weight"]
    return frame.assign(weight=weight)


def overtaken(frame, change, **settings):
    """Whether a fit of a frame, read anew, has an outsider strictly ahead of a holder."""
    fit = jr.fit_bt(jr.read(frame), extra_starts=0, **settings)
    strength, label = fit.strengths, dict(zip(fit.strengths.index, fit.graph.label, strict=True))
    others = [item for item in strength.index if item not in change.holders]
    pairs = product(change.holders, others)
    return any(label[one] == label[other] and strength[other] > strength[one] for one, other in pairs)


def smallest(frame, change):
    """The fewest votes whose removal changes who holds the places, by trying all sets."""
    keys = ["item_a", "item_b", "p_a"]
    cells = Counter(map(tuple, frame[keys].to_numpy(object)))
    for left in sorted(product(*(range(n + 1) for n in cells.values())), key=lambda some: -sum(some)):
        kept = pd.DataFrame([(*cell, n) for cell, n in zip(cells, left, strict=True) if n], columns=[*keys, "weight"])
        if {*kept["item_a"], *kept["item_b"]} >= set(change.holders) and overtaken(kept, change, judge_sigma=False):
            return len(frame) - sum(left)
    return None


PLANTED = {
    "6 to 4": (votes(("A", "B", 1, 6), ("A", "B", 0, 4)), 3),
    "ties count as votes": (votes(("A", "B", 1, 6), ("A", "B", 0.5, 4), ("A", "B", 0, 5)), 2),
    "by a hair": (votes(("A", "B", 1, 8), ("A", "B", 0, 7)), 2),
    "by a third": (votes(("A", "C", 1, 5), ("A", "C", 0, 2), ("B", "C", 1, 5), ("B", "C", 0, 3)), 2),
}


@pytest.mark.parametrize(("frame", "fewest"), PLANTED.values(), ids=PLANTED.keys())
def test_planted_cases_take_the_fewest_votes(frame, fewest):
    """Where the fewest votes are known by counting, that number is found, and it is the one of exhaustive search."""
    found = jr.fragility(frame).first
    assert (found.leader, found.challenger, found.votes) == ("A", "B", fewest)
    assert found.verified and found.share == fewest / len(frame)
    assert smallest(frame, found) == fewest


@pytest.mark.parametrize("seed", range(6))
def test_exhaustive_search_finds_no_more(seed):
    """The number is never below that of exhaustive search, and a refit without the votes confirms it."""
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 3, 9)
    b = (a + rng.integers(1, 3, 9)) % 3
    p = np.where(a < b, *rng.permuted([[1.0, 0.0]] * 9, axis=1).T)
    p = np.where(rng.random(9) < 0.2, 0.5, p)
    frame = pd.DataFrame({"item_a": np.array(list("ABC"))[a], "item_b": np.array(list("ABC"))[b], "p_a": p})
    frame = jr.read(frame).frame[["item_a", "item_b", "p_a"]]
    found = fragility(jr.rank(frame), top_k=2, most=1.0)
    for change in (found.first, found.top_k):
        if change.verified:
            assert overtaken(without(frame, change), change, judge_sigma=False)
            assert smallest(frame, change) <= change.votes


SETTINGS = {
    "bt": {"model": "bt"},
    "bt-sigma": {},
    "maximum likelihood": {"model": "bt", "prior": None},
    "davidson": {"ties": "davidson", "slot_bias": "no"},
    "rao-kupper": {"ties": "rao-kupper", "model": "bt", "slot_bias": "no"},
    "slot bias": {"slot_bias": "yes"},
}


@pytest.mark.parametrize("by", ["row", "judge", "group"])
@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS.keys())
def test_rows_that_are_named_change_the_ranking(settings, by):
    """`rank` without the rows that are listed as removed has another first, and another first three."""
    frame = drawn(1, judges=8)
    found = jr.fragility(frame, top_k=3, by=by, **settings)
    confirmed = 0
    for change in (found.first, found.top_k):
        if change.verified:
            again = jr.rank(without(frame, change), **settings).frame["item"].tolist()
            assert again.index(change.rises) < again.index(change.falls)
            assert set(again[: change.k]) != set(change.holders)
            confirmed += 1
    assert confirmed == 2 or by != "row"


def test_showings_are_votes_where_showings_are_fitted():
    """With `on="showings"` the removed rows are rows of the judgments."""
    judgments = jr.simulate(items=5, judges=3, contexts=6, seed=2).judgments
    found = jr.fragility(judgments, on="showings").first
    frame = judgments.frame.assign(weight=1.0)
    frame.loc[found.removed["row"], "weight"] = 0.0
    again = jr.rank(frame, on="showings").frame["item"].tolist()
    assert found.of == jr.rank(judgments, on="showings").fit.opinions
    assert again.index(found.rises) < again.index(found.falls)


@pytest.mark.parametrize("by", ["row", "judge", "group"])
def test_a_fit_without_units_is_the_fit_of_the_other_rows(by):
    """Taking units away from the counts is reading the table without their rows, weights and disagreements included."""
    frame = drawn(3).assign(weight=lambda rows: np.where(np.arange(len(rows)) % 3 == 0, 2.0, 0.7))
    frame.loc[::11, ["p_a", "status"]] = [0.5, "disagreement"]
    weights = pd.Series({"j0": 1.0, "j1": 0.5, "j2": 2.0})
    fit = jr.fit_bt(jr.read(frame), weights=weights, extra_starts=0)
    stock = units(fit, by)
    taken = stock.none()
    taken[1:3] = 1
    rest = frame.assign(weight=frame["weight"])
    gone = stock.removed(taken)
    rest.loc[gone["row"], "weight"] -= gone["weight"].to_numpy()
    expected = jr.fit_bt(jr.read(rest), weights=weights, extra_starts=0)
    for start in (None, fit):
        assert stock.without(taken, start).strengths.to_numpy() == pytest.approx(expected.strengths.to_numpy(), abs=1e-7)


def test_one_judge_that_carries_the_first_place_is_named():
    """Three judges put B first by little, one puts A first by much: A falls without that judge alone."""
    fair = [
        votes(("A", "B", 1, 9), ("A", "B", 0, 11), ("B", "C", 1, 15), ("B", "C", 0, 5), judge=f"fair{i}") for i in range(3)
    ]
    fan = votes(("A", "B", 1, 18), ("A", "B", 0, 2), ("A", "C", 1, 15), ("A", "C", 0, 5), judge="fan")
    found = jr.fragility(pd.concat([*fair, fan]), model="bt")
    assert found.first.leader == "A"
    assert found.judges[found.judges["changes_first"]][["judge", "first"]].to_numpy().tolist() == [["fan", "B"]]
    assert "without judge fan B is first" in str(found)
    assert jr.fragility(pd.concat([*fair, fan]), model="bt", by="judge").first.units == 1


def test_a_judge_among_many_is_found_by_prediction():
    """Of sixty judges, too many to leave each out, the one that carries the first place is among those left out."""
    fair = [votes(("A", "B", 1, 5 - (i % 3 == 0)), ("A", "B", 0, 5 + (i % 3 == 0)), judge=f"fair{i:02}") for i in range(60)]
    fan = votes(("A", "B", 1, 60), ("A", "B", 0, 10), judge="fan")
    found = jr.fragility(pd.concat([*fair, fan]), model="bt")
    assert (found.judges_of, len(found.judges)) == (61, 10)
    assert found.judges["judge"][found.judges["changes_first"].to_numpy()].tolist() == ["fan"]


def test_one_context_that_carries_the_first_place_is_named():
    """Of forty contexts one holds the votes that put A first."""
    rest = [votes(("A", "B", 1, 2), ("A", "B", 0, 2 + (i < 3)), context=f"c{i:02}") for i in range(40)]
    found = jr.fragility(pd.concat([*rest, votes(("A", "B", 1, 9), context="odd")]))
    assert found.first.leader == "A"
    changed = found.groups[found.groups["changes_first"].to_numpy()]
    assert changed[["group", "first"]].to_numpy().tolist() == [["odd", "B"]]
    assert (found.groups_of, len(found.groups)) == (41, 10)


@pytest.mark.parametrize("seed", range(2))
def test_order_and_names_change_nothing(seed):
    """Shuffled rows, renamed items and renamed judges leave all numbers, and rename the rest."""
    frame = drawn(seed)
    names = {f"i{i}": f"x{(i * 5 + 1) % 6}" for i in range(6)}
    other = frame.sample(frac=1, random_state=seed).replace({"item_a": names, "item_b": names})
    other["judge"] = other["judge"].map({"j0": "q", "j1": "p", "j2": "r"})
    one, two = (jr.fragility(data, top_k=3, model="bt" if seed else "bt-sigma") for data in (frame, other))
    for here, there in ((one.first, two.first), (one.top_k, two.top_k)):
        assert (here.votes, here.votes_predicted) == (there.votes, there.votes_predicted)
        assert (names[here.falls], names[here.rises]) == (there.falls, there.rises)
    assert one.judges["lead"].to_numpy() == pytest.approx(two.judges["lead"].to_numpy(), abs=1e-6)


def test_a_row_of_weight_k_is_k_votes():
    """Weight 3 and three equal rows fall to the same number of votes, and a row may lose some of its votes."""
    frame = drawn(4, rows=80).drop(columns=["slot"])
    heavy = frame.assign(weight=3.0)
    repeated = frame.loc[frame.index.repeat(3)]
    one, other = (jr.fragility(data, top_k=2, model="bt") for data in (heavy, repeated))
    assert (one.first.votes, one.top_k.votes, one.first.of) == (other.first.votes, other.top_k.votes, 240)
    assert overtaken(without(heavy, one.first), one.first, judge_sigma=False)
    assert one.first.removed["votes"].sum() == one.first.votes


def test_a_fractional_weight_goes_as_one_vote():
    """A row of weight 0.5 is one vote that takes its weight with it."""
    found = jr.fragility(votes(("A", "B", 1, 6), ("A", "B", 0, 4)).assign(weight=0.5)).first
    assert (found.votes, found.of) == (3, 10)
    assert found.removed["weight"].tolist() == [0.5, 0.5, 0.5]


def test_a_leader_by_a_hair_among_many_votes_falls_to_few():
    """Of 20,000 votes on 30 items, with two leaders a thousandth of a logit apart, a few carry the first place."""
    rng = np.random.default_rng(0)
    a = rng.integers(0, 30, 20_000)
    b = (a + rng.integers(1, 30, 20_000)) % 30
    strength = np.where(np.arange(30) < 2, 1.0, rng.normal(-0.5, 0.5, 30))
    p = (rng.random(20_000) < 1 / (1 + np.exp(strength[b] - strength[a]))) * 1.0
    frame = pd.DataFrame({"item_a": np.char.add("m", a.astype(str)), "item_b": np.char.add("m", b.astype(str)), "p_a": p})
    level = jr.rank(frame).fit.contrast("m0", "m1").estimate
    more = votes(("m1" if level > 0 else "m0", "m2", 1, round(abs(level) * 700)))
    found = jr.fragility(pd.concat([frame, more], ignore_index=True))
    assert {found.first.falls, found.first.rises} == {"m0", "m1"}
    assert found.first.votes <= 10 and found.first.share < 0.001
    assert abs(found.first.votes - found.first.votes_predicted) <= 1
    assert found.top_k.k == 10 and found.top_k.votes < 200


NOTHING = {
    "unbeaten leader": (votes(("A", "B", 1, 6), ("B", "C", 1, 3), ("B", "C", 0, 2)), {}, "No chain of wins leads both ways"),
    "two components": (votes(("A", "B", 1, 3), ("A", "B", 0, 1), ("C", "D", 1, 2)), {}, "no comparison between them"),
    "separate contexts": (drawn(0), {"contexts": "separate"}, "Every context has an order of its own"),
    "shared first place": (votes(("A", "B", 1, 3), ("A", "B", 0, 3)), {}, "shared by A and B"),
    "a sure lead": (votes(("A", "B", 1, 30), ("A", "B", 0, 3)), {}, "no set of up to 15 votes, of 30 that favour A over B"),
    "unbeaten, no prior": (votes(("A", "B", 1, 6), ("B", "C", 1, 2)), {"prior": None}, "No chain of wins"),
}


@pytest.mark.parametrize(("frame", "settings", "says"), NOTHING.values(), ids=NOTHING.keys())
def test_where_there_is_no_number_a_sentence_says_why(frame, settings, says):
    """No number, a sentence that says why, and JSON without NaN."""
    found = jr.fragility(frame, **settings)
    assert found.first.votes is None and not found.first.verified and found.first.removed.empty
    assert says in found.first.sentence
    document = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert document["first"]["votes"] is None and document["first"]["of"] == len(frame)
    assert document["summary"][0] == found.first.sentence


def test_all_items_inside_leave_nothing_to_change():
    """The first three of three items cannot change."""
    found = jr.fragility(drawn(2, items=3), top_k=3).top_k
    assert found.votes is None and "All items are among the first 3" in found.sentence


def test_an_item_on_the_roster_without_votes_changes_nothing():
    """A roster item that nobody compared is neither a holder nor a challenger."""
    frame = votes(("A", "B", 1, 6), ("A", "B", 0, 4))
    assert jr.fragility(frame, items=["A", "B", "Z"]).first.votes == 3


BAD = {
    "pair counts": (lambda frame: jr.fragility(jr.tally(jr.read(frame))), "lost the single votes"),
    "unknown unit": (lambda frame: jr.fragility(frame, by="item"), "no by='item'"),
    "no places": (lambda frame: jr.fragility(jr.rank(frame), top_k=0), "top_k is 0"),
    "settings of a ranking": (lambda frame: jr.fragility(jr.rank(frame), ties="davidson"), "ties cannot change it"),
    "a share above one": (lambda frame: fragility(jr.rank(frame), most=2), "most is 2"),
}


@pytest.mark.parametrize(("call", "says"), BAD.values(), ids=BAD.keys())
def test_what_has_no_meaning_is_refused(call, says):
    """Pair counts, unknown units, settings out of range, and settings beside a ranking are errors in words."""
    with pytest.raises(SettingsError, match=says):
        call(drawn(0, rows=40))


def test_a_ranking_and_its_source_say_the_same():
    """`fragility` of a ranking is that of what it was made from; the document lists at most fifty removed votes."""
    frame = drawn(5, spread=1.5, rows=500)
    one, other = jr.fragility(jr.rank(frame, model="bt"), top_k=2), jr.fragility(frame, top_k=2, model="bt")
    assert one.to_dict() == other.to_dict()
    assert len(one.to_dict()["first"]["removed"]) == min(50, len(one.first.removed))
    assert str(one) == "\n".join(one.summary)


def test_a_start_leads_to_the_same_fit():
    """Climbing from a fit of nearly the same data ends where all starts end; a fit of other items is refused."""
    frame = drawn(6)
    near, whole = jr.fit_bt(jr.read(frame[:-20]), extra_starts=0), jr.read(frame)
    one, other = jr.fit_bt(whole, extra_starts=0), jr.fit_bt(whole, start=near)
    assert one.strengths.to_numpy() == pytest.approx(other.strengths.to_numpy(), abs=1e-7)
    with pytest.raises(SettingsError, match="other items"):
        jr.fit_bt(jr.read(drawn(6, items=4)), start=near)


def test_audit_says_how_fragile_the_order_is(tmp_path, capsys):
    """`audit` has a section and a JSON key, neither with --no-fragility; without a ranking the key is null."""
    path = tmp_path / "votes.csv"
    path.write_text("item_a,item_b,win_a,win_b\nA,B,6,4\nB,C,6,4\nA,C,7,3\n")
    assert run(["audit", str(path), "--draws", "0"]) == 0
    said = capsys.readouterr().out
    assert "How fragile is the order\n  A is first, but without" in said
    assert run(["audit", str(path), "--draws", "0", "--json", "--top-k", "2"]) == 0
    document = json.loads(capsys.readouterr().out)["fragility"]
    assert document["first"]["falls"] == "A" and document["top_k"]["k"] == 2
    assert run(["audit", str(path), "--draws", "0", "--no-fragility", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["fragility"] is None
    path.write_text("first,second,outcome\na,b,failure\n")
    assert run(["audit", str(path), "--json"]) == 3
    assert json.loads(capsys.readouterr().out)["fragility"] is None


def test_a_fit_with_covariates_has_no_number_and_says_so():
    """Where strengths are read at equal covariates, fragility is a sentence and no number."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"item_a": "a", "item_b": "b", "p_a": (rng.random(60) < 0.6).astype(float)})
    found = jr.fragility(rows.assign(length=rng.normal(size=60)), covariates=["length"])
    assert found.first.votes is None and "equal covariates" in str(found)
