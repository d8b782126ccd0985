"""Whose 95 % intervals cover the centred strengths?

The data are those of coverage.py with one judge; the truth is each item's strength less the mean of all items, in logits.
Every data set has a truth of its own. A rival that is not installed is skipped, one that is slow gets fewer data sets.
juryrank: the interval of `rank`, and the same with the model's covariance; prior sd 10. An end that the data leave open
is not stated: such an interval holds on its other side, at 95 % one-sided. Rivals, none of which leaves an end open:
    pairsort    centred log-strength and 1.96 of its standard errors. It states no interval, and its standard error is that
                of one item with all others held fixed. Prior: half a win and half a loss against a reference item
    arena-rank  its default, a sandwich; Elo, less 1000 (the mean, where it starts), over 400 / ln 10. No prior. Run inside
                one jit, as it compiles anew, for seconds, in each fit: the same ends to 1e-6 Elo
    arenakit    percentiles of centred log-strengths: by battle (default), or by item_id, here the context. Prior: half a
                battle against a phantom of mean strength. Its slow iteration is replaced through its `fit` option: the same
                point to 1e-8
    evalica     logarithms of the ends for Bradley-Terry scores (their geometric mean is 1): percentiles, and BCa (default)
                in sparse designs; it refits once per opinion, of which full ones have 1,680 and 5,220. No prior
Bootstraps have 400 resamples, not the defaults of 2,000 (arenakit) and 1,000 (evalica): percentiles of 400 hold half a
point less than 95 %. True strengths are normal with sd 1.

    python benchmarks/coverage_of_rivals.py [data sets]

Measured (5.5 min of one core; 100 data sets, arenakit 30, evalica 30 in sparse designs and 20 and 6 in full ones; percent
covered / Monte Carlo error; "finite": the data sets in which every item has a finite maximum, in the sparse cells 82, 78,
42, 56 of 100 and 24, 26, 13, 16 of 30, in full ones all; width over that of juryrank's model, where both ends are stated):

    8 items                   sparse, independent        sparse, context            full, independ. full, context
                              all       finite    width  all       finite    width  all       width  all       width
    juryrank, model           97.9/0.5  98.0/0.6  1.00   97.9/0.5  97.6/0.6  1.00   94.4/0.8  1.00   89.5/1.2  1.00
    juryrank, auto (cluster)  99.4/0.3  99.2/0.3  1.27   99.0/0.3  98.9/0.4  1.29   94.5/0.8  1.02   94.0/0.9  1.21
    pairsort, stderr          98.6/0.4  98.9/0.4  0.93   98.5/0.4  98.4/0.5  0.94   96.9/0.6  1.13   92.9/1.1  1.13
    arena-rank, sandwich      82.5/3.2  96.2/0.8  0.94   76.8/3.9  96.8/0.8  0.94   94.6/0.8  1.00   89.4/1.2  1.00
    arenakit, by battle       90.8/2.3  94.3/1.5  1.13   91.7/1.9  94.7/1.4  1.19   94.6/1.5  1.00   89.6/2.0  1.00
    arenakit, by item         88.8/2.4  91.7/2.1  1.12   92.5/1.8  95.2/1.2  1.21   95.4/1.5  0.99   95.4/1.3  1.16
    evalica, percentile       74.2/7.1  92.7/2.1  4.70   82.9/5.5  93.3/1.9  5.35   97.5/1.5  1.00   90.6/2.4  1.00
    evalica, BCa              79.6/7.4  99.5/0.5  4.78   87.9/5.5  98.6/0.8  5.52   -               -

    30 items
    juryrank, model           96.2/0.4  96.4/0.5  1.00   95.0/0.4  95.1/0.6  1.00   95.3/0.4  1.00   84.0/0.7  1.00
    juryrank, auto (cluster)  98.2/0.3  97.9/0.5  1.35   98.6/0.2  98.4/0.3  1.38   95.0/0.4  1.03   94.2/0.4  1.39
    pairsort, stderr          96.5/0.3  96.6/0.5  0.86   95.9/0.4  96.1/0.5  0.87   95.9/0.3  1.03   85.6/0.7  1.03
    arena-rank, sandwich      83.7/1.6  93.9/0.7  0.98   85.4/1.8  93.6/0.7  0.98   95.1/0.4  1.00   84.2/0.7  1.00
    arenakit, by battle       90.2/1.3  93.6/1.7  1.20   89.1/1.1  90.4/1.6  1.23   95.3/0.6  1.00   85.3/1.5  1.00
    arenakit, by item         88.9/1.2  92.3/1.6  1.20   88.7/1.1  90.4/1.3  1.26   93.4/0.6  0.98   93.2/1.0  1.32
    evalica, percentile       29.4/7.1  67.9/7.9  1.99   40.6/7.4  76.0/4.0  2.64   97.2/1.0  1.00   86.1/3.8  1.00
    evalica, BCa              34.2/8.0  79.0/8.0  1.40   49.0/8.7  91.9/3.0  2.19   -               -

Nothing raised an exception, and no rival's end was NaN. juryrank left an end open in 4.9, 3.9 (8 items), 2.8 and 2.3 % (30)
of the intervals in sparse designs. evalica's intervals were one single point for all items in 6, 3, 17 and 14 of its 30
sparse data sets; they count as stated.

Conclusion: on full designs with independent opinions all cover, 93 to 97 %, pairsort by being wide by about n / (n - 1).
Where opinions share a context, whatever takes them for independent, juryrank's model too, falls to 84 to 91 % (pairsort's
extra width lifts it to 93 % at 8 items); what `rank` chooses by itself and arenakit by item_id, which has to be asked for,
hold 93 to 95 %. On sparse designs the rivals without a prior go wrong as soon as one item wins or loses everything: its
strength runs away and takes the mean of all with it (arena-rank, 77 to 85 %), or all scores become equal (evalica, 29 to
88 %). evalica suffers from that in resamples too, where the data themselves are sound: lower ends are then its floor of
1e-6, hence the widths. arenakit's percentiles hold 89 to 93 %. pairsort does well there: 96 to 99 %, narrower than
juryrank. Its prior keeps an undefeated item, and so the mean of all, within bounds, and that is no gift of these truths:
with sd 2 (80 data sets of each independent cell) it still held 96 % at .7 of the width. The covariances that it leaves out
matter on other designs, such as chains. `rank` holds 94 % or more throughout, helped by open ends, which cannot be missed,
but pays for it in sparse designs: clustering by 20 or 30 contexts makes intervals 27 to 38 % wider than the model's, which
needed no widening, and covers 98 to 99 %.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd
from coverage import CELLS, LEVEL, Cell, draw, target, truth
from scipy.special import ndtri

import juryrank as jr
from juryrank.tables import comparisons

#: (items,) lower and upper ends in logits, in the order of the names; a missing end is NaN
Ends = tuple[np.ndarray, np.ndarray]
ITEMS = (8, 30)
#: resamples of a bootstrap; the rivals' own defaults are 2,000 (arenakit) and 1,000 (evalica)
RESAMPLES = 400
#: opinions up to which evalica's BCa, which refits once for each, is asked for
JACKKNIFED = 200
#: most data sets of a slow rival
MOST = {
    "arenakit": {(8, "sparse"): 30, (8, "full"): 30, (30, "sparse"): 30, (30, "full"): 30},
    "evalica": {(8, "sparse"): 30, (8, "full"): 20, (30, "sparse"): 30, (30, "full"): 6},
}
#: seeds of data sets start here: those of truths lie below
DRAWN = 1_000_000
TAILS = 50 - 50 * LEVEL, 50 + 50 * LEVEL
#: an item's step in logits that Newton may take at most, and the step at which it has arrived
FAR, NEAR = 2.0, 1e-9


def of_juryrank(frame: pd.DataFrame) -> dict[str, Ends]:
    """What `rank` states, and the same with the model's covariance."""
    found = jr.rank(comparisons(frame))
    rows = found.frame.set_index("item").sort_index()
    ends = rows["low"].to_numpy(float), rows["high"].to_numpy(float)
    error = found.fit.standard_errors("model").reindex(rows.index).to_numpy()
    model = around(rows["strength"].to_numpy(), error, ends)
    return {"juryrank, model": model, f"juryrank, auto ({found.settings['covariance']})": ends}


def around(strength: np.ndarray, error: np.ndarray, stated: Ends) -> Ends:
    """Normal intervals, open where the stated ones are: that is a matter of who beat whom, whatever the covariance."""
    low, high = map(np.isfinite, stated)
    far = ndtri(np.where(low & high, 0.5 + LEVEL / 2, LEVEL)) * error
    return np.where(low, strength - far, np.nan), np.where(high, strength + far, np.nan)


def of_pairsort(frame: pd.DataFrame) -> dict[str, Ends]:
    """Log-strength, centred already, and 1.96 of its standard errors."""
    from pairsort.couple import bradley_terry
    from pairsort.pairwise import PairwiseMatrix

    a, b, n = coded(frame)
    matrix = PairwiseMatrix(n)
    for one, other, p in zip(a, b, frame["p_a"], strict=True):
        matrix.add(one, other, p)
    found = bradley_terry(matrix)
    far = ndtri(0.5 + LEVEL / 2) * found.stderr
    return {"pairsort, stderr": (found.log_strength - far, found.log_strength + far)}


def of_arena_rank(frame: pd.DataFrame) -> dict[str, Ends]:
    """Ratings less their mean, over 400 / ln 10."""
    a, b, n = coded(frame)
    rating, *ends = map(np.asarray, arena_fit()(n, np.stack([a, b], axis=1), frame["p_a"].to_numpy()))
    low, high = ((end - rating.mean()) * np.log(10) / 400 for end in ends)
    return {"arena-rank, sandwich": (low, high)}


@cache
def arena_fit() -> Callable[..., tuple[Any, Any, Any]]:
    """Its own fit and intervals in one jit: by itself it compiles anew for every data set."""
    import jax
    import jax.numpy as jnp
    from arena_rank.models.bradley_terry import BradleyTerry
    from arena_rank.utils.data_utils import PairDataset

    def fit(n: int, pairs: Any, outcomes: Any) -> tuple[Any, Any, Any]:
        once = jnp.ones(len(outcomes))
        data = PairDataset(list(range(n)), pairs, outcomes, once, once, once)
        found = BradleyTerry(n).compute_ratings_and_cis(data)
        return found["ratings"], found["rating_lower"], found["rating_upper"]

    return jax.jit(fit, static_argnums=0)


def of_arenakit(frame: pd.DataFrame) -> dict[str, Ends]:
    """Percentiles of log-strengths, each resample centred by itself, over battles and over contexts."""
    from arenakit import Arena, Battle, bootstrap

    won = np.where(frame["p_a"] == 1, "a", "b")
    rows = zip(frame["item_a"], frame["item_b"], won, frame["context"], strict=True)
    arena = Arena([Battle(model_a=a, model_b=b, winner=w, item_id=c) for a, b, w, c in rows])
    drawn = {by: bootstrap(arena, arenakit_fit, RESAMPLES, cluster=by) for by in ("battle", "item")}
    return {f"arenakit, by {by}": tuple(found.score_ci(LEVEL).T) for by, found in drawn.items()}


def arenakit_fit(counts: Any) -> Any:
    """The point where its default iteration stands still, prior and all, by Newton's method."""
    from arenakit import BTFit, fit_bt
    from arenakit.bt import PRIOR_BATTLES

    score = np.zeros(counts.n_models)
    for _ in range(60):
        step = newton_step(score, counts.comparisons, counts.wins.sum(axis=1), PRIOR_BATTLES)
        score = score + step * min(1, FAR / max(np.abs(step).max(), NEAR))
        if np.abs(step).max() < NEAR:
            return BTFit(score)
    return fit_bt(counts)


def newton_step(score: np.ndarray, met: np.ndarray, won: np.ndarray, prior: float) -> np.ndarray:
    """Towards wins in the same ratio to the expected ones for all items, with a mean of zero."""
    n, own = len(score), 1 / (1 + np.exp(-score))
    share = 1 / (1 + np.exp(score - score[:, None]))
    expected = (met * share).sum(axis=1) + prior * own
    slope = met * share * share.T
    slope = np.diag(slope.sum(axis=1) + prior * own * (1 - own)) - slope
    system = np.block([[slope / expected[:, None], np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
    return np.linalg.solve(system, np.append(np.log((won + prior / 2) / expected), 0))[:n]


def of_evalica(frame: pd.DataFrame) -> dict[str, Ends]:
    """Logarithms of the ends for scores, whose geometric mean is 1."""
    method = "BCa" if len(frame) <= JACKKNIFED else "percentile"
    drawn = evalica_bootstrap(frame, method)
    names = sorted(drawn.low.index)
    found = {"evalica, percentile": tuple(np.log(np.percentile(drawn.distribution[names], TAILS, axis=0)))}
    if method == "BCa":
        found["evalica, BCa"] = np.log(drawn.low[names].to_numpy()), np.log(drawn.high[names].to_numpy())
    return found


def evalica_bootstrap(frame: pd.DataFrame, method: str) -> Any:
    """Its bootstrap of Bradley-Terry scores."""
    from evalica import Winner, bootstrap, bradley_terry

    winners = [Winner.X if p == 1 else Winner.Y for p in frame["p_a"]]
    how = {"n_resamples": RESAMPLES, "confidence_level": LEVEL, "bootstrap_method": method, "random_state": 0}
    return bootstrap(bradley_terry, list(frame["item_a"]), list(frame["item_b"]), winners, **how)


def coded(frame: pd.DataFrame) -> tuple[np.ndarray, np.ndarray, int]:
    """(opinions,) numbers of the two items in the order of their names, and how many there are."""
    names, codes = np.unique(frame[["item_a", "item_b"]], return_inverse=True)
    a, b = codes.reshape(-1, 2).T
    return a, b, len(names)


RIVALS: dict[str, Callable[[pd.DataFrame], dict[str, Ends]]] = {
    "pairsort": of_pairsort,
    "arena_rank": of_arena_rank,
    "arenakit": of_arenakit,
    "evalica": of_evalica,
}


def scored(ends: Ends, model: Ends, wanted: np.ndarray) -> tuple[float, float, float, bool]:
    """Share of intervals that hold, mean width over the model's, share with a missing end, whether all are one point.

    An interval without one end holds on the other side; one without both says nothing and is left out of the first.
    """
    low, high = ends
    width, usual = high - low, model[1] - model[0]
    said, closed = np.isfinite(low) | np.isfinite(high), np.isfinite(width) & np.isfinite(usual)
    held = ~(low > wanted) & ~(high < wanted)
    ratio = width[closed].mean() / usual[closed].mean() if closed.any() else np.nan
    share = held[said].mean() if said.any() else np.nan
    return float(share), float(ratio), float(1 - np.isfinite(width).mean()), bool(np.ptp(ends) == 0)


def measure(cell: Cell, sets: int, rivals: list[str]) -> tuple[pd.DataFrame, Counter[str]]:
    """One row per data set and interval, and which exceptions were raised how often."""
    rows, raised = [], Counter[str]()
    for seed in range(sets):
        known = truth(cell, seed)
        wanted, frame = target(cell, known), draw(cell, known, DRAWN + seed)
        found = of_juryrank(frame)
        model = found["juryrank, model"]
        asked = [name for name in rivals if seed < MOST.get(name, {}).get((cell.items, cell.design), sets)]
        found |= answers(frame, asked, raised)
        finite = bool(np.isfinite(model).all())
        rows += [(name, finite, *scored(ends, model, wanted - wanted.mean())) for name, ends in found.items()]
    return pd.DataFrame(rows, columns=["interval", "finite", "held", "width", "open", "alike"]), raised


def answers(frame: pd.DataFrame, rivals: list[str], raised: Counter[str]) -> dict[str, Ends]:
    """All rivals' intervals; exceptions are counted in `raised`."""
    found: dict[str, Ends] = {}
    for name in rivals:
        try:
            found |= RIVALS[name](frame)
        except Exception as error:
            raised[f"{name}: {type(error).__name__}"] += 1
    return found


def shown(part: pd.DataFrame) -> str:
    """Coverage, width, missing ends, and coverage in the data sets in which every strength has a finite maximum."""
    finite = part[part["finite"]]
    missing = f"{100 * part['open'].mean():3.1f} % without an end, {part['alike'].sum():2d} sets one point"
    return f"{covered(part)}, width {part['width'].mean():5.2f}, {missing}; where all are finite: {covered(finite)}"


def covered(part: pd.DataFrame) -> str:
    """Percent covered with its Monte Carlo error, and the number of data sets."""
    held = 100 * part["held"]
    return f"{held.mean():5.1f}/{held.sem():.1f} of {len(part):3d} sets"


def main(sets: int = 100) -> None:
    rivals = [name for name in RIVALS if find_spec(name)]
    for name in (name for name in RIVALS if name not in rivals):
        print(f"{name} is not installed: skipped")
    print(f"coverage in % / Monte Carlo error, width over the model's; bootstraps of {RESAMPLES} resamples")
    for cell in (cell for cell in CELLS if cell.items in ITEMS and cell.judges == 1):
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found, raised = measure(cell, sets, rivals)
        print(f"{cell} [{time.perf_counter() - start:.0f} s]; raised: {dict(raised) or 'nothing'}")
        for name, part in found.groupby("interval", sort=False):
            print(f"    {name:26s} {shown(part)}", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
