"""Covariates in every frame: slots, names, formats, files, reconciled opinions; refusals; the ways in and out."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from covariates_support import NAMES, PLAIN, facts, votes
from scipy.special import expit

import juryrank as jr
from juryrank.cli import run
from juryrank.conflicts.ballots import ballots
from juryrank.conflicts.expectation import outlook
from juryrank.formats.write import write


def turned(frame: pd.DataFrame, rows: np.ndarray) -> pd.DataFrame:
    """Some showings the other way round: slots, answer and values."""
    ends = {"first": "second", "length_first": "length_second"}
    swapped = frame.rename(columns=ends | {other: one for one, other in ends.items()})[frame.columns]
    swapped = swapped.assign(bold=-frame["bold"], outcome=frame["outcome"].map({"first": "second", "second": "first"}))
    return pd.concat([frame[~rows], swapped[rows]])


@pytest.mark.parametrize("on", ["showings", "comparisons"])
def test_order_of_rows_slots_and_names_change_nothing(on):
    """Shuffled rows, turned showings and names that sort the other way give the same fit, item by item."""
    frame = votes(9)

    def fit(data: pd.DataFrame) -> jr.Fit:
        source = jr.read(data)
        return jr.fit_bt(source if on == "showings" else jr.reconcile(source), covariates=NAMES, **PLAIN)

    one = fit(frame)
    rng = np.random.default_rng(0)
    assert facts(fit(frame.sample(frac=1, random_state=0))) == pytest.approx(facts(one), abs=1e-8)
    assert facts(fit(turned(frame, rng.random(len(frame)) < 0.5))) == pytest.approx(facts(one), abs=1e-8)
    assert facts(fit(turned(frame, np.ones(len(frame), bool)))) == pytest.approx(facts(one), abs=1e-8)
    names = {f"i{k}": f"x{9 - k}" for k in range(5)}
    other = fit(frame.assign(first=frame["first"].map(names), second=frame["second"].map(names)))
    assert facts(other)[10:] == pytest.approx(facts(one)[10:], abs=1e-8)
    assert other.strengths[list(names.values())].to_numpy() == pytest.approx(one.strengths.to_numpy(), abs=1e-8)


def test_names_that_sort_the_other_way_keep_slot_bias_and_sigma():
    """With slot biases and sigmas too, only the names change when the names change."""
    frame = votes(10)
    names = {f"i{k}": f"x{9 - k}" for k in range(5)}
    again = frame.assign(first=frame["first"].map(names), second=frame["second"].map(names))
    one, other = (jr.fit_bt(jr.read(data), covariates=NAMES, slot_bias=True) for data in (frame, again))
    assert other.coefficients["estimate"].to_numpy() == pytest.approx(one.coefficients["estimate"].to_numpy(), rel=1e-6)
    assert other.slot_biases.to_numpy() == pytest.approx(one.slot_biases.to_numpy(), abs=1e-7)
    assert other.sigmas.to_numpy() == pytest.approx(one.sigmas.to_numpy(), abs=1e-7)


def written(frame: pd.DataFrame, kind: str, *, values: bool) -> pd.DataFrame:
    """The showings in one of the formats, each row as the format names the two items."""
    a, b = frame["first"], frame["second"]
    won, rng = (frame["outcome"] == "first").astype(float), np.random.default_rng(1)
    one, other = frame["length_first"], frame["length_second"]
    ends = ("_first", "_second") if kind in ("judgments", "choice") else ("_a", "_b")
    rest = frame[["judge", "context"]].assign(bold=frame["bold"])
    if kind == "order":  # half of the rows name first what was shown second; values and outcome go with the names
        swap = rng.random(len(frame)) < 0.5
        a, b, won = a.where(~swap, b), b.where(~swap, a), won.where(~swap, 1 - won)
        one, other = one.where(~swap, other), other.where(~swap, one)
        rest = rest.assign(bold=frame["bold"].where(~swap, -frame["bold"]), order=swap.astype(int))
    rest = rest.assign(**{"length" + ends[0]: one, "length" + ends[1]: other}) if values else rest.assign(length=one - other)
    words = {
        "judgments": {"first": a, "second": b, "outcome": won.map({1: "first", 0: "second"})},
        "choice": {"left": a, "right": b, "choice": won.map({1: "left", 0: "right"})},
        "comparisons": {"item_a": a, "item_b": b, "p_a": won},
        "outcomes": {"item_a": a, "item_b": b, "outcome_a": won},
        "order": {"item_a": a, "item_b": b, "outcome_a": won},
        "wins": {"item_a": a, "item_b": b, "win_a": won, "win_b": 1 - won},
        "arena": {"model_a": a, "model_b": b, "winner": won.map({1: "model_a", 0: "model_b"})},
        "alpaca": {"generator_1": a, "generator_2": b, "preference": 2 - won},
    }
    return rest.assign(**words[kind])


KINDS = ["judgments", "choice", "comparisons", "outcomes", "order", "wins", "arena", "alpaca"]


@pytest.mark.parametrize("values", [True, False], ids=["two columns", "one column"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_format_carries_covariates_in_its_own_frame(kind, values, tmp_path):
    """Whatever way round a format names two items, as a frame and as a CSV file, the fit is the same."""
    frame = votes(11, judges=2)
    expected = facts(jr.fit_bt(jr.read(frame), covariates=NAMES, **PLAIN))
    source = written(frame, kind, values=values)
    path = tmp_path / "votes.csv"
    source.to_csv(path, index=False)
    for data in (source, source.sample(frac=1, random_state=1), path):
        table = jr.read(data)
        assert facts(jr.fit_bt(table, covariates=NAMES, **PLAIN)) == pytest.approx(expected, abs=1e-8)
    if kind not in ("judgments", "choice"):
        assert any(table.frame.get("turned", [False]))


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
@pytest.mark.parametrize("kind", ["comparisons", "order", "arena"])
def test_a_table_that_was_turned_stays_so_in_a_file(kind, suffix, tmp_path):
    """Our own tables, written and read again, or taken as frames, still know which way round a difference stands."""
    frame = votes(12, judges=2)
    for values in (True, False):
        table = jr.read(written(frame, kind, values=values))
        expected = facts(jr.fit_bt(table, covariates=NAMES, **PLAIN))
        write(table, tmp_path / f"table{values}{suffix}")
        again = jr.read(tmp_path / f"table{values}{suffix}")
        assert facts(jr.fit_bt(again, covariates=NAMES, **PLAIN)) == pytest.approx(expected, abs=1e-8)
        assert facts(jr.fit_bt(jr.read(table.frame), covariates=NAMES, **PLAIN)) == pytest.approx(expected, abs=1e-8)


def test_values_of_two_items_go_with_the_items():
    """A comparisons table that turns a row turns its columns `x_a` and `x_b`, text as well."""
    rows = [{"item_a": "z", "item_b": "b", "p_a": 1.0, "length_a": 9, "length_b": 1.5, "text_a": "of z", "text_b": "of b"}]
    rows.append({"item_a": "a", "item_b": "b", "p_a": 1.0, "length_a": 3, "length_b": 4, "text_a": "of a", "text_b": "of b"})
    frame = jr.read(rows).frame
    assert frame["item_a"].tolist() == ["b", "a"]
    assert frame["length_a"].tolist() == [1.5, 3] and frame["length_b"].tolist() == [9, 4]
    assert frame["text_a"].tolist() == ["of b", "of a"] and frame["text_b"].tolist() == ["of z", "of b"]


# reconciled opinions


def test_an_opinion_has_the_mean_over_its_decisive_showings():
    """Both orders are turned to the items first; failures and abstentions, which may lack a value, do not count."""
    showing = {"context": "q", "judge": "j"}
    rows = [
        {"first": "b", "second": "a", "outcome": "second", "x": -4.0, "repetition": 0},
        {"first": "a", "second": "b", "outcome": "first", "x": 6.0, "repetition": 0},
        {"first": "a", "second": "b", "outcome": "first", "x": 8.0, "repetition": 1, "weight": 2.0},
        {"first": "a", "second": "b", "outcome": "uncertain", "x": 1000.0, "repetition": 2},
        {"first": "a", "second": "b", "outcome": "failure", "x": None, "repetition": 3},
        {"first": "c", "second": "b", "outcome": "first", "x": 5.0, "repetition": 0},
        {"first": "c", "second": "a", "outcome": "failure", "x": None, "repetition": 0},
    ]
    compared = jr.reconcile(jr.read([showing | {"weight": 1.0} | row for row in rows]))
    counts = jr.tally(compared, covariates=["x"])
    assert counts.frame[["item_a", "item_b", "x"]].to_numpy().tolist() == [["a", "b", (4 + 6 + 16) / 4], ["b", "c", -5.0]]
    shown = jr.tally(compared.judgments, covariates=["x"])
    assert shown.frame["x"].tolist() == [4.0, 6.0, 8.0, -5.0]


def test_both_orders_that_agree_are_fitted_as_they_stand():
    """With one value per item and question, `rank` on comparisons is the fit on the opinions written out."""
    rng = np.random.default_rng(13)
    made = jr.simulate(items=5, judges=2, contexts=30, seed=13).judgments
    length = pd.Series(rng.normal(0, 1, 150), index=[f"{c}/{i}" for c in made.frame["context"].unique() for i in made.items])
    frame = made.frame.drop(columns=["p_first", "group"])
    for end in ("first", "second"):
        frame[f"length_{end}"] = length[frame["context"] + "/" + frame[end]].to_numpy()
    ranking = jr.rank(frame, covariates=["length"])
    opinions = jr.reconcile(jr.read(frame)).frame.drop(columns=["winner"])
    for end in ("a", "b"):
        opinions[f"length_{end}"] = length[opinions["context"] + "/" + opinions[f"item_{end}"]].to_numpy()
    again = jr.fit_bt(opinions.sample(frac=1, random_state=2), covariates=["length"])
    assert ranking.fit.coefficients["estimate"][0] == pytest.approx(again.coefficients["estimate"][0], rel=1e-7)
    assert ranking.fit.strengths.to_numpy() == pytest.approx(again.strengths.to_numpy(), abs=1e-7)
    assert jr.rank(ranking, covariates=["length"]).coefficients.equals(ranking.coefficients)


# refusals


@pytest.mark.parametrize(
    ("change", "covariates", "words"),
    [
        ({}, ["width"], "no column 'width' for the covariate, nor 'width_first' and 'width_second'.*'length_first'"),
        ({"x_first": 1.0}, ["x"], "no column 'x' for the covariate, nor 'x_first' and 'x_second'"),
        ({"x": "long"}, ["x"], "row 1, column 'x': 'long' is not a finite number"),
        ({"x": [1.0] * 7 + [np.nan] + [1.0] * 392}, ["x"], "row 8, column 'x': an empty cell is not a finite number"),
        ({"x": [1.0] * 7 + [np.inf] + [1.0] * 392}, ["x"], "row 8, column 'x': inf is not a finite number"),
        ({"x": True}, ["x"], "column 'x': true and false are not numbers"),
        ({"x_first": 1e308, "x_second": -1e308}, ["x"], "column 'x': inf is not a finite number"),
    ],
)
def test_a_bad_column_is_named_with_its_row(change, covariates, words):
    """A column that is not there, or holds no finite number in a row that counts, is an error that says where."""
    source = jr.read(votes(28).assign(**change))
    with pytest.raises(jr.InputError, match=words):
        jr.fit_bt(source, covariates=covariates)
    with pytest.raises(jr.InputError, match=words):
        jr.fit_bt(jr.reconcile(source), covariates=covariates)


def test_rows_are_counted_as_in_the_source(tmp_path):
    """The row of an error is that of the file, blank lines and expanded counts notwithstanding; silent rows may be empty."""
    path = tmp_path / "votes.jsonl"
    rows = [{"first": "a", "second": "b", "outcome": "failure", "x": None}]
    rows += [{"first": "a", "second": "b", "outcome": "first", "x": value} for value in (1.0, "much")]
    path.write_text("\n".join(["", *map(json.dumps, rows[:2]), "", json.dumps(rows[2])]))
    for on in ("showings", "comparisons"):
        with pytest.raises(jr.InputError, match="row 5, column 'x': 'much'"):
            jr.rank(path, covariates=["x"], on=on)
    wins = pd.DataFrame({"item_a": "a", "item_b": "b", "win_a": [1, 2, 3], "win_b": [1, 1, 1], "x": [1, 2, np.nan]})
    with pytest.raises(jr.InputError, match="row 3, column 'x'"):
        jr.rank(wins, covariates=["x"])
    assert len(jr.rank(wins.assign(win_a=[1, 2, np.nan], win_b=[1, 1, np.nan]), covariates=["x"]).coefficients) == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"covariates": "length"}, "is one text"),
        ({"covariates": ["bold", "bold"]}, "'bold' is named twice"),
        ({"covariates": ["weight"]}, "'weight' has a meaning of its own"),
        ({"covariates": [3]}, "3 is no name"),
        ({"covariates": ["bold"], "covariates_by": "context"}, "covariates_by='context'; expected one of all, judge"),
    ],
)
def test_settings_without_a_meaning_are_refused(options, words):
    """Names that are none, and an unknown way to share coefficients."""
    for verb in (jr.fit_bt, jr.rank):
        with pytest.raises(jr.SettingsError, match=words):
            verb(jr.read(votes(29)), **options)


def test_counts_that_have_lost_a_covariate_say_so():
    """Pair counts made without a covariate cannot be fitted with it; a prior with a bad width is refused."""
    with pytest.raises(jr.SettingsError, match=r"without the covariate 'bold'.*tally\(..., covariates="):
        jr.fit_bt(jr.tally(jr.read(votes(30)), covariates=["length"]), covariates=["bold"])
    with pytest.raises(jr.SettingsError, match="covariate_sd"):
        jr.Prior(covariate_sd=0)


# around the fit


def test_contradictions_are_measured_at_the_values_seen():
    """What the fit expects of an opinion has the covariates in it, as the fit itself has."""
    frame = votes(31, judges=2)
    ranking = jr.rank(frame, covariates=NAMES, covariates_by="judge", model="bt")
    source = jr.reconcile(jr.read(frame))
    held = ballots(ranking.fit, source)
    share, _ = outlook(ranking.fit, held.a[held.pair], held.b[held.pair], held.judge, held.slot, held.x).share()
    at = ranking.coefficients.pivot(index="judge", columns="covariate", values="estimate")
    length = frame["length_first"] - frame["length_second"]
    z = ranking.fit.strengths[frame["first"]].to_numpy() - ranking.fit.strengths[frame["second"]].to_numpy()
    z = z + at.loc[frame["judge"], "length"].to_numpy() * length + at.loc[frame["judge"], "bold"].to_numpy() * frame["bold"]
    z = z + ranking.fit.slot_biases[frame["judge"]].to_numpy()
    forward = (frame["first"] < frame["second"]).to_numpy()
    expected = pd.Series(np.where(forward, expit(z), expit(-z)), index=frame["context"])
    assert share == pytest.approx(expected[source.frame["context"]].to_numpy(), abs=1e-9)
    found = jr.contradictions(frame, covariates=NAMES, draws=20)
    assert 0 <= found.implied_rate <= 1


def test_the_command_line_says_what_covariates_do(tmp_path, capfd):
    """`--covariate` twice, `--covariates-by judge`: a table under the judges, records in the document; audit takes both."""
    path = tmp_path / "votes.csv"
    votes(32, judges=2).to_csv(path, index=False)
    given = ["--covariate", "length", "--covariate", "bold", "--covariates-by", "judge"]
    assert run(["rank", str(path), *given]) == 0
    text = capfd.readouterr().out
    assert "covariate  judge  per unit" in text
    assert "covariate sd 3" in text and "at equal length, bold" in text
    assert run(["rank", str(path), *given, "--json"]) == 0
    document = json.loads(capfd.readouterr().out)["fit"]
    names = [("length", "j0"), ("length", "j1"), ("bold", "j0"), ("bold", "j1")]
    assert [(row["covariate"], row["judge"]) for row in document["covariates"]] == names
    assert document["covariates_by"] == "judge" and document["prior"]["covariate_sd"] == 3.0
    assert run(["audit", str(path), *given, "--draws", "5"]) == 0
    capfd.readouterr()
    assert run(["rank", str(path), "--prior", "none"]) == 0
    none = capfd.readouterr().out
    assert "covariate" not in none and "none (maximum likelihood)" in none
    assert run(["rank", str(path), "--covariate", "width"]) == 2
    assert "'width'" in capfd.readouterr().err


def test_a_fit_repeats_its_settings():
    """Names and sharing stand in the result, and a ranking carries the errors and the level that it was asked for."""
    frame = votes(33)
    ranking = jr.rank(frame, covariates=iter(NAMES), covariates_by="judge", covariance="cluster", level=0.8, on="showings")
    assert ranking.fit.covariates == tuple(NAMES) and ranking.fit.covariates_by == "judge"
    assert ranking.settings["covariates"] == NAMES
    expected = ranking.fit.coefficient_frame("cluster", "group", 0.8)
    assert ranking.coefficients.equals(expected) and len(expected) == 6
