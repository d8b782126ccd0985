"""Fits of published data against R (BradleyTerry2, and Davidson's likelihood by hand) and a published BT-sigma fit.

The log-likelihoods of the summary file carry constants, worked out here:
- baseball, citations: R adds log C(n, k) for each row, n games of which item_a won k;
- cems with ties = 0.5: R's `logLik.glm` calls dbinom with round(0.5) = 0 successes, so that each tie is scored as a win
  of item_b; the deviance, in which ties are half wins, is 2 * (saturated - ours) with saturated = ties * log(1/2);
- Davidson's models: none, the kernel wins_a log P(a) + wins_b log P(b) + ties log P(tie).
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, gammaln, log_expit

import juryrank as jr

DATA = Path(__file__).parents[2] / "shared" / "data"
pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(not DATA.exists(), reason=f"the shared data are not at {DATA}"),
]
ESTIMATE, ERROR = 1e-6, 1e-5


def table(name: str) -> pd.DataFrame:
    return pd.read_csv(DATA / "classic" / name, dtype={"item_a": str, "item_b": str})


def opinions(frame: pd.DataFrame, *, slot: int = 0) -> pd.DataFrame:
    """Counted wins and ties as one opinion row each."""
    counts = frame.assign(tie=frame["tie"] if "tie" in frame.columns else 0).dropna(subset=["win_a"])
    kinds = (("win_a", 1.0, "win"), ("win_b", 0.0, "win"), ("tie", 0.5, "tie"))
    rows = pd.concat(
        [
            counts[["item_a", "item_b"]].assign(p_a=p, status=status, weight=counts[name].astype(float), slot=slot)
            for name, p, status in kinds
        ]
    )
    return rows[rows["weight"] > 0]


def football(slot: int) -> pd.DataFrame:
    games = table("football_epl.csv")
    names = {1: "win_a", 0: "tie", -1: "win_b"}
    counts = pd.get_dummies(games["result"].map(names)).astype(float)
    return opinions(games.join(counts), slot=slot)


def plain(frame: pd.DataFrame, **options: object) -> jr.Fit:
    return jr.fit_bt(frame, judge_sigma=False, prior=None, **options)


@cache
def fitted(dataset: str, model: str) -> jr.Fit:
    sources: dict[tuple[str, str], Callable[[], jr.Fit]] = {
        ("baseball", "BT"): lambda: plain(opinions(table("baseball.csv"), slot=1)),
        ("baseball", "BT+home"): lambda: plain(opinions(table("baseball.csv"), slot=1), slot_bias=True),
        ("citations", "BT"): lambda: plain(opinions(table("citations.csv"))),
        ("cems", "BT (ties=0.5)"): lambda: plain(opinions(table("cems.csv"))),
        ("cems", "Davidson ties"): lambda: plain(opinions(table("cems.csv")), ties="davidson"),
        ("football_epl", "Davidson ties"): lambda: plain(football(0), ties="davidson"),
        ("football_epl", "Davidson ties+order"): lambda: plain(football(1), ties="davidson", slot_bias=True),
        ("pudding", "Davidson ties"): lambda: plain(opinions(table("pudding.csv")), ties="davidson"),
    }
    return sources[dataset, model]()


#: dataset, model: the item that R holds at zero
REFERENCE_ITEM = {
    ("baseball", "BT"): "Baltimore",
    ("baseball", "BT+home"): "Baltimore",
    ("citations", "BT"): "Biometrika",
    ("cems", "BT (ties=0.5)"): "Stockholm",
    ("cems", "Davidson ties"): "Barcelona",
    ("football_epl", "Davidson ties"): "Ars",
    ("football_epl", "Davidson ties+order"): "Ars",
    ("pudding", "Davidson ties"): "1",
}


def reference() -> pd.DataFrame:
    rows = pd.read_csv(DATA / "classic/reference_fits_public.csv", dtype={"parameter": str})
    return rows.assign(
        model=rows["model"].str.removesuffix("/BTabilities"),
        parameter=rows["parameter"].str.removeprefix("team").str.removeprefix(".."),
    )


@pytest.mark.parametrize(("dataset", "model"), REFERENCE_ITEM)
def test_estimates_and_standard_errors_are_those_of_r(dataset: str, model: str) -> None:
    """Every estimate of R is met to 1e-6 and every standard error to 1e-5, tie and order parameters included."""
    fit, base = fitted(dataset, model), REFERENCE_ITEM[dataset, model]
    rows = reference().query("dataset == @dataset and model == @model")
    assert len(rows) >= len(fit.strengths) - 1
    assert fit.converged
    for row in rows.itertuples():
        if row.parameter == "log_nu":
            found = math.log(fit.tie_parameter), fit.tie_stderr
        elif row.parameter in ("at.home", "order_first"):
            found = fit.slot_biases["judge"], fit.slot_stderr["judge"]
        else:
            contrast = fit.contrast(row.parameter, base)
            found = contrast.estimate, contrast.stderr
        assert found[0] == pytest.approx(row.estimate, abs=ESTIMATE), row.parameter
        assert found[1] == pytest.approx(row.std_error, abs=ERROR), row.parameter


def test_every_reference_fit_is_looked_at() -> None:
    """The reference file holds the fits tested here and the bias-reduced one of flatlizards, and no other."""
    known = set(REFERENCE_ITEM) | {("flatlizards", "BT bias-reduced (Firth/Jeffreys) brglm")}
    assert set(reference()[["dataset", "model"]].itertuples(index=False, name=None)) == known
    summary = pd.read_csv(DATA / "classic/reference_fits_summary_public.csv")
    assert set(summary[["dataset", "model"]].itertuples(index=False, name=None)) == set(REFERENCE_ITEM)


def choose(name: str) -> float:
    """Sum of log C(n, k) over the rows of a table of wins."""
    counts = table(name)
    a, b = counts["win_a"], counts["win_b"]
    return float((gammaln(a + b + 1) - gammaln(a + 1) - gammaln(b + 1)).sum())


def published(dataset: str, model: str) -> pd.Series:
    summary = pd.read_csv(DATA / "classic/reference_fits_summary_public.csv")
    return summary.query("dataset == @dataset and model == @model").iloc[0]


@pytest.mark.parametrize(("dataset", "model"), [k for k in REFERENCE_ITEM if k != ("cems", "BT (ties=0.5)")])
def test_log_likelihoods_are_those_of_r_after_their_constant(dataset: str, model: str) -> None:
    """Our log-likelihood plus the binomial coefficients, where R adds them, is R's to 1e-6."""
    constant = choose(f"{dataset}.csv") if model.startswith("BT") else 0.0
    assert fitted(dataset, model).log_likelihood + constant == pytest.approx(published(dataset, model)["logLik"], abs=1e-6)


@pytest.mark.parametrize(("dataset", "model"), [("baseball", "BT"), ("baseball", "BT+home"), ("citations", "BT")])
def test_deviances_are_those_of_r(dataset: str, model: str) -> None:
    """Twice the distance of our log-likelihood from the saturated one is R's deviance."""
    counts = table(f"{dataset}.csv")
    a, b = counts["win_a"].to_numpy(float), counts["win_b"].to_numpy(float)
    with np.errstate(divide="ignore", invalid="ignore"):
        saturated = np.nansum(a * np.log(a / (a + b))) + np.nansum(b * np.log(b / (a + b)))
    deviance = 2 * (saturated - fitted(dataset, model).log_likelihood)
    assert deviance == pytest.approx(published(dataset, model)["deviance"], abs=1e-6)


def test_cems_with_half_ties_has_the_deviance_and_the_rounded_log_likelihood_of_r() -> None:
    """With ties as half wins our log-likelihood gives R's deviance, and R's own one scores ties as wins of item_b."""
    fit, row = fitted("cems", "BT (ties=0.5)"), published("cems", "BT (ties=0.5)")
    counts = table("cems.csv").dropna(subset=["win_a"])
    saturated = counts["tie"].sum() * math.log(0.5)
    assert 2 * (saturated - fit.log_likelihood) == pytest.approx(row["deviance"], abs=1e-6)
    z = fit.strengths[counts["item_a"]].to_numpy() - fit.strengths[counts["item_b"]].to_numpy()
    rounded = counts["win_a"] * log_expit(z) + (counts["win_b"] + counts["tie"]) * log_expit(-z)
    assert rounded.sum() == pytest.approx(row["logLik"], abs=1e-6)


def test_the_covariance_of_baseball_is_that_of_r() -> None:
    """Covariances against Baltimore and of the home effect are R's to 1e-6, and the inverse information's to 1e-10.

    R inverts the information of its last step but one, so that its own digits end at about 3e-7.
    """
    expected = pd.read_csv(DATA / "classic/baseball_BThome_vcov.csv", index_col=0)
    fit = fitted("baseball", "BT+home")
    teams = [name.removeprefix("team") for name in expected.index[:-1]]
    counts = table("baseball.csv")
    design = np.column_stack(
        [(counts["item_a"] == team).astype(float) - (counts["item_b"] == team).astype(float) for team in teams]
        + [np.ones(len(counts))]
    )
    at = np.array([fit.strengths[team] - fit.strengths["Baltimore"] for team in teams] + [fit.slot_biases["judge"]])
    p = expit(design @ at)
    information = design.T @ (design * ((counts["win_a"] + counts["win_b"]).to_numpy() * p * (1 - p))[:, None])
    exact = np.linalg.inv(information)
    against = pd.DataFrame(np.eye(len(teams)), index=teams, columns=teams).assign(Baltimore=-1.0)[fit.strengths.index]
    found = against.to_numpy() @ fit.covariance().to_numpy() @ against.to_numpy().T
    assert found == pytest.approx(exact[:-1, :-1], abs=1e-10)
    assert found == pytest.approx(expected.iloc[:-1, :-1].to_numpy(), abs=1e-6)
    assert fit.slot_stderr["judge"] ** 2 == pytest.approx(exact[-1, -1], abs=1e-10)
    assert fit.slot_stderr["judge"] ** 2 == pytest.approx(expected.loc["at.home", "at.home"], abs=1e-6)


def test_reading_the_files_gives_the_same_fits() -> None:
    """The same tables read as files give the fits of the frames."""
    for name in ("baseball", "citations", "cems"):
        read = jr.fit_bt(jr.read(DATA / f"classic/{name}.csv"), judge_sigma=False, prior=None)
        model = "BT (ties=0.5)" if name == "cems" else "BT"
        assert read.strengths.to_numpy() == pytest.approx(fitted(name, model).strengths.to_numpy(), abs=1e-9)
    ranked = jr.rank(DATA / "classic/pudding.csv", prior=None, ties="davidson")
    assert ranked.fit.tie_parameter == pytest.approx(fitted("pudding", "Davidson ties").tie_parameter, abs=1e-9)


def test_the_published_anchors() -> None:
    """Textbook figures of baseball and pudding (Agresti 2002, Davidson 1970) come out to their printed digits."""
    home = fitted("baseball", "BT+home")
    worth = np.sort(np.exp(home.strengths) / np.exp(home.strengths).sum())
    assert worth == pytest.approx([0.044, 0.088, 0.137, 0.157, 0.164, 0.190, 0.220], abs=5e-4)
    pudding = fitted("pudding", "Davidson ties")
    worth = np.exp(pudding.strengths) / np.exp(pudding.strengths).sum()
    printed = [0.1388005, 0.1729985, 0.1617420, 0.1653930, 0.1586805, 0.2023855]
    assert worth.to_numpy() == pytest.approx(printed, abs=5e-4)
    assert pudding.tie_parameter == pytest.approx(0.7468147, abs=5e-4)


def test_flatlizards_is_flagged() -> None:
    """Separated data are not printed as numbers: without a prior no unbounded item has a finite strength or two ends."""
    frame = table("flatlizards.csv").rename(columns={"outcome_a": "p_a"})
    fit = plain(frame)
    graph = pd.DataFrame({"above": fit.graph.unbounded_above, "below": fit.graph.unbounded_below}, index=fit.strengths.index)
    wins = pd.concat([frame["item_a"][frame["p_a"] == 1], frame["item_b"][frame["p_a"] == 0]])
    losses = pd.concat([frame["item_b"][frame["p_a"] == 1], frame["item_a"][frame["p_a"] == 0]])
    unbeaten = sorted(set(wins) - set(losses))
    winless = sorted(set(losses) - set(wins))
    assert unbeaten
    assert winless
    assert graph.loc[unbeaten, "above"].all()
    assert graph.loc[winless, "below"].all()
    unbounded = graph.any(axis=1)
    assert not np.isfinite(fit.strengths[unbounded]).any()
    assert not np.isfinite(fit.stderr[unbeaten + winless]).any()
    assert any("no finite maximum" in text for text in fit.warnings)
    document = jr.rank(DATA / "classic/flatlizards.csv", prior=None).to_dict()
    for row in document["ranking"]:
        if row["item"] in unbeaten + winless:
            assert row["flags"]
            assert row["strength"] is None
            assert row["low"] is None or row["high"] is None


def test_pandalm_is_the_published_bt_sigma_fit() -> None:
    """PandaLM's pooled and BT-sigma log-likelihoods are met to 1e-6, and strengths and sigmas up to the file's scale.

    The file scales strengths to unit length and multiplies gaps by `judge_scale`; in our gauge that is the length of
    the strengths over sigma. p is not clipped; the rows without an outcome are left out.
    """
    (expected,) = json.loads((DATA / "crowd/reference_btsigma_public.json").read_text())
    frame = pd.read_csv(DATA / "crowd/pandalm.csv").dropna(subset=["outcome_a"]).rename(columns={"outcome_a": "p_a"})
    frame = frame[["judge", "item_a", "item_b", "p_a"]]
    assert len(frame) == expected["rows"]
    assert frame["judge"].value_counts().min() >= expected["min_judgments_per_judge"]
    pooled, fit = plain(frame), jr.fit_bt(frame, prior=None)
    assert pooled.log_likelihood == pytest.approx(expected["logL_pooled_bt"], abs=1e-6)
    assert fit.log_likelihood == pytest.approx(expected["logL_bt_sigma"], abs=1e-6)
    assert pooled.strengths.to_dict() == pytest.approx(expected["theta_pooled_bt_sum0"], abs=2e-6)
    length = float(np.sqrt((fit.strengths**2).sum()))
    assert (fit.strengths / length).to_dict() == pytest.approx(expected["theta_unit_norm"], abs=2e-6)
    assert (length / fit.sigmas).to_dict() == pytest.approx(expected["judge_scale"], abs=2e-5)
    z = (fit.strengths[frame["item_a"]].to_numpy() - fit.strengths[frame["item_b"]].to_numpy()) / fit.sigmas[
        frame["judge"]
    ].to_numpy()
    p = frame["p_a"].to_numpy()
    assert (p * log_expit(z) + (1 - p) * log_expit(-z)).sum() == pytest.approx(fit.log_likelihood, abs=1e-8)
    gradient = pd.Series(p - expit(z)).groupby(frame["judge"].to_numpy()).apply(lambda e: (e * z[e.index]).sum())
    assert gradient.abs().max() < 1e-5
