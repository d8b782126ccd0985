"""Cases C-01 to C-20, the reference numbers, C-44 and C-45: inputs with known right values, through the public names."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

import juryrank as jr

LN3 = math.log(3)


def wins(*pairs: tuple[str, str, float, float], **columns: object) -> pd.DataFrame:
    """A frame of opinions from (a, b, wins of a, wins of b), one row per side that won."""
    rows = []
    for a, b, for_a, for_b in pairs:
        rows += [(a, b, p, weight) for p, weight in ((1.0, for_a), (0.0, for_b)) if weight]
    return pd.DataFrame(rows, columns=["item_a", "item_b", "p_a", "weight"]).assign(**columns)


def plain(frame: object, **options: object) -> jr.Fit:
    """Maximum likelihood without sigmas."""
    return jr.fit_bt(frame, judge_sigma=False, **{"prior": None, **options})


def gap(fit: jr.Fit, a: str, b: str) -> float:
    return fit.contrast(a, b).estimate


def entry(document: dict, item: str) -> dict:
    return next(row for row in document["ranking"] if row["item"] == item)


SWEEP = wins(("A", "B", 3, 0))
STRICT = [(f"i{a}", f"i{b}", 2, 0) for a in range(6) for b in range(a + 1, 6)]


def test_c01_an_unbeaten_item_has_no_finite_maximum() -> None:
    """Without a prior the strengths of 3-0 are infinite, flagged, and said to be so in a warning."""
    fit = plain(SWEEP)
    assert fit.strengths.to_dict() == {"A": math.inf, "B": -math.inf}
    contrast = fit.contrast("A", "B")
    assert contrast.estimate == math.inf
    assert contrast.high == math.inf
    assert math.isnan(contrast.stderr)
    assert any("never lost" in text for text in fit.warnings)
    document = jr.rank(SWEEP, prior=None).to_dict()
    assert entry(document, "A")["flags"] == ["unbounded above"]
    assert entry(document, "B")["flags"] == ["unbounded below"]
    assert entry(document, "A")["strength"] is None
    assert [row["item"] for row in document["ranking"]] == ["A", "B"]


def test_c01_with_a_prior_the_open_end_is_missing() -> None:
    """With the default prior an unbeaten item has a lower end and no upper one, and the prior is named."""
    ranking = jr.rank(SWEEP)
    above, below = (entry(ranking.to_dict(), item) for item in "AB")
    assert above["flags"] == ["unbounded above"]
    assert above["high"] is None
    assert above["low"] < above["strength"]
    assert below["low"] is None
    assert below["high"] > below["strength"]
    assert ranking.fit.contrast("A", "B").high == math.inf
    assert any("prior" in text for text in ranking.warnings)


@pytest.mark.parametrize(("pseudo", "value"), [(1.0, math.log(7)), (0.1, math.log(61))])
def test_c01_pseudo_wins_bound_the_gap(pseudo: float, value: float) -> None:
    """Half of lambda pseudo-wins each way make 3-0 a gap of ln((3 + lambda/2) / (lambda/2))."""
    fit = plain(SWEEP, prior=jr.Prior(None, None, None, pseudo_wins=pseudo))
    assert gap(fit, "A", "B") == pytest.approx(value, abs=1e-8)
    assert fit.prior.pseudo_wins == pseudo


def test_c02_groups_that_wins_lead_out_of_only_one_way() -> None:
    """Gaps within strongly connected groups are zero, and the gap between them is unbounded."""
    frame = wins(("A", "B", 1, 1), ("C", "D", 1, 1), ("A", "C", 1, 0))
    fit = plain(frame)
    assert gap(fit, "A", "B") == pytest.approx(0, abs=1e-9)
    assert gap(fit, "C", "D") == pytest.approx(0, abs=1e-9)
    assert [gap(fit, a, b) for a in "AB" for b in "CD"] == [math.inf] * 4
    assert gap(fit, "D", "B") == -math.inf
    document = jr.rank(frame, prior=None).to_dict()
    assert [entry(document, i)["flags"] for i in "ABCD"] == [["unbounded above"]] * 2 + [["unbounded below"]] * 2
    assert document["diagnostics"]["components"] == 1
    assert document["diagnostics"]["strong_groups"] == [["A", "B"], ["C", "D"]]


def test_c03_gaps_across_components_are_undefined() -> None:
    """Two groups without a row across have gaps of ln 3 within and nothing at all between."""
    frame = wins(("A", "B", 3, 1), ("C", "D", 3, 1))
    fit = plain(frame)
    assert gap(fit, "A", "B") == pytest.approx(LN3, abs=1e-9)
    assert gap(fit, "C", "D") == pytest.approx(LN3, abs=1e-9)
    contrast = fit.contrast("A", "C")
    assert all(math.isnan(x) for x in (contrast.estimate, contrast.stderr, contrast.low, contrast.high, contrast.p))
    assert math.isnan(fit.probability("A", "C"))
    for prior in (None, jr.Prior()):
        ranking = jr.rank(frame, prior=prior)
        document = ranking.to_dict()
        assert document["diagnostics"]["components"] == 2
        assert {entry(document, i)["component"] for i in "AB"} == {1}
        assert {entry(document, i)["component"] for i in "CD"} == {2}
        assert [entry(document, i)["rank"] for i in "ABCD"] == [1, 2, 1, 2]
        assert math.isnan(ranking.probability("A", "C"))
        assert any("no comparison between them" in text for text in document["warnings"])


def test_c03_a_split_made_by_reconciliation_is_reported() -> None:
    """A bridge whose second order failed is no bridge: the components are those after reconciliation."""
    rows = [("a", "b", "first"), ("b", "a", "second"), ("c", "d", "first"), ("d", "c", "second")]
    rows += [("b", "c", "first"), ("c", "b", "failure")]
    frame = pd.DataFrame(rows, columns=["first", "second", "outcome"])
    document = jr.rank(frame).to_dict()
    assert document["diagnostics"]["components"] == 2
    assert document["counts"]["failure"] == 1


def test_c04_two_items_are_enough() -> None:
    """Seven to three is a gap of ln(7/3) with its textbook standard errors."""
    fit = plain(wins(("A", "B", 7, 3)))
    assert fit.contrast("A", "B").estimate == pytest.approx(0.847298, abs=1e-6)
    assert fit.contrast("A", "B").stderr == pytest.approx(0.690066, abs=1e-6)
    assert fit.strengths.to_numpy() == pytest.approx([0.423649, -0.423649], abs=1e-6)
    assert fit.stderr.to_numpy() == pytest.approx([0.345033] * 2, abs=1e-6)


@pytest.mark.parametrize(("items", "count"), [(None, "0"), (["A"], "1")])
def test_c04_fewer_than_two_items_are_refused_with_their_number(items: list[str] | None, count: str) -> None:
    """A source that leaves none or one item to rank is an error that names the count."""
    empty = pd.DataFrame({"item_a": [], "item_b": [], "p_a": []})
    with pytest.raises(jr.JuryrankError, match=rf"\b({count}|{'no' if count == '0' else 'one'}) item"):
        jr.rank(empty, items=items)


def test_c05_the_side_on_which_a_winner_is_written_does_not_matter() -> None:
    """Rows stored winner-first, or all turned round, give ln 3 to the last digit that rows stored by id give."""
    by_id = plain(pd.DataFrame({"item_a": ["A"] * 4, "item_b": ["B"] * 4, "p_a": [1, 1, 1, 0]}))
    winner_first = plain(pd.DataFrame({"item_a": [*"AAAB"], "item_b": [*"BBBA"], "p_a": [1] * 4}))
    winner_last = plain(pd.DataFrame({"item_a": [*"BBBA"], "item_b": [*"AAAB"], "p_a": [0] * 4}))
    assert gap(by_id, "A", "B") == pytest.approx(LN3, abs=1e-9)
    assert winner_first.strengths.equals(by_id.strengths)
    assert winner_last.strengths.equals(by_id.strengths)


def test_c05_winners_in_the_first_slot_only_teach_nothing_about_slots() -> None:
    """A file of arena battles that always writes the winner first gives ln 3, and a warning instead of a slot bias."""
    rows = [("A", "B", "model_a")] * 3 + [("B", "A", "model_a")]
    ranking = jr.rank(pd.DataFrame(rows, columns=["model_a", "model_b", "winner"]), prior=None)
    assert gap(ranking.fit, "A", "B") == pytest.approx(LN3, abs=1e-9)
    assert not ranking.to_dict()["fit"]["slot_bias"]
    assert any("slot" in text for text in ranking.warnings)


BOTH_BAD = {
    "arena": pd.DataFrame({"model_a": "A", "model_b": "B", "winner": ["model_a", "tie (bothbad)"]}),
    "judgments": pd.DataFrame({"first": "A", "second": "B", "outcome": ["first", "both_bad"], "context": ["x", "y"]}),
}


@pytest.mark.parametrize("kind", BOTH_BAD)
@pytest.mark.parametrize("policy", ["strict", "lenient", "soft"])
def test_c06_both_bad_is_half_a_win_in_every_path(kind: str, policy: str) -> None:
    """A win and a both-bad tie give 0.75 and ln 3 in fits, and one both-bad tie in the report."""
    ranking = jr.rank(BOTH_BAD[kind], prior=None, policy=policy)
    assert gap(ranking.fit, "A", "B") == pytest.approx(LN3, abs=1e-9)
    assert ranking.probability("A", "B") == pytest.approx(0.75, abs=1e-9)
    document = ranking.to_dict()
    assert document["counts"] == {"win": 1, "tie": 1, "uncertain": 0, "disagreement": 0, "failure": 0}
    assert document["both_bad"] == 1
    assert [entry(document, i)["ties"] for i in "AB"] == [1, 1]


def test_c06_both_bad_is_half_a_win_in_a_fit_on_showings() -> None:
    """A fit on the showings counts a both-bad answer as half a win each way too."""
    ranking = jr.rank(BOTH_BAD["judgments"], on="showings", prior=None)
    assert ranking.probability("A", "B") == pytest.approx(0.75, abs=1e-9)
    assert jr.fit_bt(jr.read(BOTH_BAD["judgments"]), prior=None).probability("A", "B") == pytest.approx(0.75, abs=1e-9)


@pytest.mark.parametrize("prior", [None, jr.Prior()])
def test_c07_ties_only(prior: jr.Prior | None) -> None:
    """Nothing but ties puts all strengths at exactly zero, all items in the table, and errors that are finite."""
    frame = pd.DataFrame({"item_a": ["A", "B"], "item_b": ["B", "C"], "p_a": 0.5})
    ranking = jr.rank(frame, prior=prior)
    assert ranking.fit.strengths.to_dict() == {"A": 0.0, "B": 0.0, "C": 0.0}
    assert np.isfinite(ranking.fit.stderr).all()
    assert [row["decided_by"] for row in ranking.to_dict()["ranking"]] == ["id"] * 3
    assert [row["rank"] for row in ranking.to_dict()["ranking"]] == [1, 1, 1]


def test_c08_a_tie_is_half_a_win_and_weights_multiply_it() -> None:
    """One win and one tie are ln 3 and unbounded without the tie; weights multiply ties like wins."""
    frame = pd.DataFrame({"item_a": "A", "item_b": "B", "p_a": [1, 0.5]})
    assert gap(plain(frame), "A", "B") == pytest.approx(LN3, abs=1e-9)
    assert gap(plain(frame.assign(weight=2.0)), "A", "B") == pytest.approx(LN3, abs=1e-9)
    assert gap(plain(frame.assign(weight=[1.0, 2.0])), "A", "B") == pytest.approx(math.log(2), abs=1e-9)
    assert gap(plain(frame.iloc[:1]), "A", "B") == math.inf
    assert jr.rank(frame, prior=None).to_dict()["fit"]["ties"] == "half"


def test_c09_ties_stand_in_the_numerator_too() -> None:
    """One win, one loss and 98 ties are a probability of one half."""
    frame = pd.DataFrame({"item_a": "A", "item_b": "B", "p_a": [1, 0] + [0.5] * 98})
    assert plain(frame).probability("A", "B") == 0.5
    assert plain(frame).probability("A", "A") == 0.5


def test_c10_ties_that_go_in_come_out() -> None:
    """A judge that answers a tie on three pairs of ten has three ties of ten pairs in the counts."""
    rows = [(f"a{i}", "b", "tie" if i < 3 else "first") for i in range(10)]
    rows += [("b", f"a{i}", "tie" if i < 3 else "second") for i in range(10)]
    document = jr.rank(pd.DataFrame(rows, columns=["first", "second", "outcome"])).to_dict()
    assert document["counts"] == {"win": 7, "tie": 3, "uncertain": 0, "disagreement": 0, "failure": 0}
    assert entry(document, "b")["ties"] == 3


@pytest.mark.parametrize(("ties", "fixed"), [("davidson", 0.0), ("rao-kupper", 1.0)])
def test_c11_a_tie_parameter_without_ties_is_fixed(ties: str, fixed: float) -> None:
    """Without a tie the tie parameter stands where ties are impossible, with a warning, and strengths are plain."""
    frame = wins(("A", "B", 3, 1))
    fit = plain(frame, ties=ties)
    assert fit.tie_parameter == fixed
    assert any("no ties" in text for text in fit.warnings)
    assert fit.strengths.equals(plain(frame).strengths)
    document = jr.rank(frame, ties=ties, prior=None).to_dict()
    assert document["counts"] == {"win": 4, "tie": 0, "uncertain": 0, "disagreement": 0, "failure": 0}


CHAIN = wins(*((f"c{i:02d}", f"c{i + 1:02d}", 1, 0) for i in range(14)))


@pytest.mark.parametrize("pseudo", [1.0, 0.5])
def test_c12_a_chain_has_equal_steps_under_pseudo_wins(pseudo: float) -> None:
    """Each step of a chain of single wins is ln((1 + lambda/2) / (lambda/2))."""
    fit = plain(CHAIN, prior=jr.Prior(None, None, None, pseudo_wins=pseudo))
    steps = -np.diff(fit.strengths.to_numpy())
    assert steps == pytest.approx([math.log((1 + pseudo / 2) / (pseudo / 2))] * 14, abs=1e-8)


def test_c12_a_chain_under_a_ridge_is_symmetric() -> None:
    """A Gaussian prior of sd 100 gives steps of 4.35 in the middle and 5.70 at the ends, symmetric and falling."""
    strengths = plain(CHAIN, prior=jr.Prior(strength_sd=100)).strengths.to_numpy()
    steps = -np.diff(strengths)
    assert round(steps[6], 2) == round(steps[7], 2) == 4.35
    assert round(steps[0], 2) == round(steps[-1], 2) == 5.70
    assert strengths == pytest.approx(-strengths[::-1], abs=1e-8)
    assert (np.diff(steps[:7]) < 0).all()


def test_c12_a_chain_has_no_maximum() -> None:
    """Without a prior every gap along the chain is infinite, and what is between the ends is open both ways."""
    fit = plain(CHAIN)
    assert fit.strengths.iloc[0] == math.inf
    assert fit.strengths.iloc[-1] == -math.inf
    assert fit.strengths.iloc[1:-1].isna().all()
    assert gap(fit, "c03", "c09") == math.inf
    document = jr.rank(CHAIN, prior=None).to_dict()
    assert [row["item"] for row in document["ranking"]] == [f"c{i:02d}" for i in range(15)]
    assert all(row["strength"] is None for row in document["ranking"])


def test_c13_a_strict_order_is_fitted_as_such() -> None:
    """Six items in strict order, each pair twice, stand at the known strengths under one pseudo-win."""
    fit = plain(wins(*STRICT), prior=jr.Prior(None, None, None, pseudo_wins=1))
    expected = [1.52530, 0.85773, 0.27817, -0.27817, -0.85773, -1.52530]
    assert fit.strengths.to_numpy() == pytest.approx(expected, abs=5e-6)
    assert fit.converged


def test_c14_observed_wins_are_expected_wins() -> None:
    """At the maximum each item has won as often as the fit expects."""
    pairs = [("A", "B", 2, 3), ("A", "D", 1, 4), ("B", "C", 5, 3), ("C", "D", 1, 3)]
    fit = plain(wins(*pairs))
    excess = dict.fromkeys("ABCD", 0.0)
    for a, b, for_a, for_b in pairs:
        expected = (for_a + for_b) * fit.probability(a, b)
        excess[a] += for_a - expected
        excess[b] -= for_a - expected
    assert max(map(abs, excess.values())) < 1e-6
    assert fit.converged


def test_c15_the_prior_stands_with_the_result() -> None:
    """Without a prior 0>1 twice, 1>2 and 2>0 are the known strengths, and a document names the prior that was used."""
    frame = wins(("0", "1", 2, 0), ("1", "2", 1, 0), ("2", "0", 1, 0))
    assert plain(frame).strengths.to_numpy() == pytest.approx([0.419618, -0.419618, 0], abs=1e-6)
    default, none = jr.Prior(), jr.rank(frame, prior=None).to_dict()["fit"]["prior"]
    shown = jr.rank(frame).to_dict()["fit"]["prior"]
    assert shown["strength_sd"] == default.strength_sd
    assert none == {"strength_sd": None, "log_sigma_sd": None, "slot_sd": None, "pseudo_wins": 0}


@pytest.mark.parametrize(
    ("pairs", "strict", "weak", "judged", "strengths"),
    [
        ([("A", "B", 1, 0), ("B", "C", 1, 0), ("C", "A", 1, 0)], 1, 0, 1, [0, 0, 0]),
        ([("A", "B", 8, 3), ("B", "C", 7, 2), ("C", "A", 6, 5)], 1, 0, 1, [0.246345, 0.017178, -0.263524]),
        ([("A", "B", 1, 0), ("B", "C", 1, 0), ("A", "C", 1, 1)], 0, 1, 1, None),
    ],
)
def test_c16_cycles(pairs: list, strict: int, weak: int, judged: int, strengths: list[float] | None) -> None:
    """Strict and weak cycles are counted apart, beside the triads that could be judged."""
    ranking = jr.rank(wins(*pairs), prior=None)
    shown = ranking.to_dict()["diagnostics"]["triads"]
    assert (shown["strict"], shown["weak"], shown["judged"]) == (strict, weak, judged)
    if strengths:
        assert ranking.fit.strengths.to_numpy() == pytest.approx(strengths, abs=1e-6)
        assert ranking.to_dict()["diagnostics"]["cycle"] == ["A", "B", "C", "A"]


def test_c17_a_self_comparison_is_refused_by_row() -> None:
    """An item against itself is an error with its row number in a fit as in a reader."""
    frame = pd.DataFrame({"item_a": ["A", "A"], "item_b": ["B", "A"], "p_a": 1})
    with pytest.raises(jr.InputError, match=r"row 2.*'A'"):
        jr.fit_bt(frame)


def test_c18_weights() -> None:
    """Weight 2 against 0.5 is ln 4 with a counting error, and a row of weight k is k equal rows in every number."""
    fit = plain(wins(("A", "B", 2, 0.5)))
    assert gap(fit, "A", "B") == pytest.approx(math.log(4), abs=1e-9)
    assert fit.contrast("A", "B").stderr == pytest.approx(1.581139, abs=1e-6)
    one, many = wins(("A", "B", 3, 2)), pd.DataFrame({"item_a": "A", "item_b": "B", "p_a": [1, 1, 1, 0, 0]})
    assert plain(one).contrast("A", "B") == plain(many).contrast("A", "B")
    assert plain(one).log_likelihood == pytest.approx(plain(many).log_likelihood, abs=1e-12)


def test_c18_a_weight_of_zero_is_no_row() -> None:
    """An item known only from rows of weight zero is listed as not observed, and changes nothing else."""
    frame = wins(("A", "B", 3, 1))
    nothing = pd.DataFrame({"item_a": ["C"], "item_b": ["A"], "p_a": [1.0], "weight": [0.0]})
    with_zero = jr.rank(pd.concat([frame, nothing]), prior=None)
    assert gap(with_zero.fit, "A", "B") == gap(plain(frame), "A", "B")
    last = entry(with_zero.to_dict(), "C")
    assert last["flags"] == ["not observed"]
    assert (last["strength"], last["stderr"], last["rank"]) == (None, None, None)
    assert with_zero.to_dict()["counts"]["win"] == 4


@pytest.mark.parametrize("weight", [-1.0, math.nan, math.inf, -math.inf])
def test_c18_bad_weights_are_refused_by_row(weight: float) -> None:
    """A weight below zero, missing or infinite is an error that names the row."""
    frame = pd.DataFrame({"item_a": "A", "item_b": "B", "p_a": [1, 0], "weight": [1.0, weight]})
    with pytest.raises(jr.InputError, match="row 2"):
        jr.fit_bt(frame)


def test_c19_strength_of_a_win_is_no_number_of_rows() -> None:
    """Five strong wins and five weak losses move the estimate, and the error is that of ten observations."""
    fit = plain(pd.DataFrame({"item_a": "A", "item_b": "B", "p_a": [1.0] * 5 + [0.25] * 5}))
    assert fit.probability("A", "B") == pytest.approx(0.625, abs=1e-9)
    assert fit.contrast("A", "B").stderr == pytest.approx((10 * 0.625 * 0.375) ** -0.5, abs=1e-9)


def test_c20_rosters() -> None:
    """An unseen item of the roster stays in the table without a score, and a foreign id is an error with the id."""
    frame = wins(("A", "B", 3, 1))
    document = jr.rank(frame, items=["B", "Z", "A"]).to_dict()
    assert [row["item"] for row in document["ranking"]] == ["A", "B", "Z"]
    unseen = entry(document, "Z")
    assert unseen["flags"] == ["not observed"]
    assert all(unseen[name] is None for name in ("strength", "stderr", "low", "high", "rank", "rank_low", "tier"))
    assert math.isnan(plain(frame, items=["A", "B", "Z"]).strengths["Z"])
    with pytest.raises(jr.InputError, match="'B'"):
        jr.fit_bt(frame, items=["A", "Z"])
