"""Judgments with known truth, to test whatever reads them.

    z = (s_first - s_second) / sigma_k + b_k + e        e: one normal draw per showing, shared by its repetitions
    P(first) : P(second) : P(tie) = exp(z / 2) : exp(-z / 2) : nu                    (Davidson 1970; nu = 0: no ties)

where s is the item's strength plus, in each context, its own normal deviation. Before that a call fails or abstains
with fixed chances. Strengths sum to zero and sigmas have geometric mean 1, as fits report them. Everything follows
from the seed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields

import numpy as np
import pandas as pd

from juryrank.errors import SettingsError
from juryrank.tables import FAILURE, FIRST, SECOND, TIE, UNCERTAIN, Judgments

ORDERS = ("both", "random", "single")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What a simulation was made with; `simulate` tells what each means."""

    items: int = 20
    judges: int = 5
    contexts: int = 1
    pairs: int | str = "all"
    orders: str = "both"
    repetitions: int = 1
    strength_sd: float = 1.0
    log_sigma_sd: float = 0.5
    slot_sd: float = 0.3
    context_sd: float = 0.0
    showing_sd: float = 0.0
    tie_rate: float = 0.0
    failure_rate: float = 0.0
    uncertain_rate: float = 0.0
    rows: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in (("items", 2), ("judges", 1), ("contexts", 1), ("repetitions", 1), ("seed", 0)):
            _check_whole(name, getattr(self, name), least)
        for name in (spec.name for spec in fields(self) if spec.name.endswith(("_sd", "_rate"))):
            _check_number(name, getattr(self, name))
        if not self.failure_rate + self.uncertain_rate <= 1:
            raise SettingsError(
                f"failure_rate = {self.failure_rate} and uncertain_rate = {self.uncertain_rate} sum to more than 1."
            )
        if self.orders not in ORDERS:
            raise SettingsError(f"orders = {self.orders!r}; expected {', '.join(ORDERS)}.")
        if self.rows is not None:
            _check_whole("rows", self.rows, 1)
            if self.repetitions != 1:
                raise SettingsError(f"rows = {self.rows} repeats showings by chance; repetitions = {self.repetitions}.")
        self._check_pairs()

    def _check_pairs(self) -> None:
        if self.pairs == "all":
            return
        if isinstance(self.pairs, str):
            raise SettingsError(f"pairs = {self.pairs!r}; expected 'all' or a whole number.")
        _check_whole("pairs", self.pairs, 1)
        if not self.items - 1 <= self.pairs <= self.pairs_of_items:
            raise SettingsError(
                f"pairs = {self.pairs}; {self.items} items hang together from {self.items - 1} pairs on and have "
                f"{self.pairs_of_items} (rows=N draws single judgments from all pairs)."
            )

    @property
    def pairs_of_items(self) -> int:
        """All unordered pairs."""
        return self.items * (self.items - 1) // 2

    @property
    def pairs_per_context(self) -> int:
        """Pairs that are asked in each context."""
        return self.pairs_of_items if isinstance(self.pairs, str) else int(self.pairs)


@dataclass(frozen=True, eq=False)
class Simulation:
    """Judgments, and the truth that they were drawn from."""

    judgments: Judgments = field(repr=False)
    #: logits by item, sum zero
    strengths: pd.Series
    #: by judge, geometric mean 1; small is sharp
    sigmas: pd.Series
    #: logits towards the first slot, by judge
    slot_biases: pd.Series
    settings: Settings


def simulate(
    *,
    items: int = 20,
    judges: int = 5,
    contexts: int = 1,
    pairs: int | str = "all",
    orders: str = "both",
    repetitions: int = 1,
    strength_sd: float = 1.0,
    log_sigma_sd: float = 0.5,
    slot_sd: float = 0.3,
    context_sd: float = 0.0,
    showing_sd: float = 0.0,
    tie_rate: float = 0.0,
    failure_rate: float = 0.0,
    uncertain_rate: float = 0.0,
    rows: int | None = None,
    seed: int = 0,
) -> Simulation:
    """Draw judgments: every judge on every pair of every context, or exactly `rows` showings at random from those.

    `pairs`: "all", or how many per context, drawn anew in each, connected, no item in over two more than another.
    `orders`: "both", "random" (one order per judge and pair), "single" (the id that sorts first is shown first).
    `strength_sd`, `log_sigma_sd`, `slot_sd`: spread of items, of judges' log sigma, of judges' slot bias, in logits.
    `context_sd`: spread of an item's strength between contexts. `showing_sd`: spread of e, which makes repetitions of
    a showing alike. `tie_rate`: Davidson's nu. `failure_rate`, `uncertain_rate`: chances of a call.
    """
    settings = Settings(**locals())
    rng = np.random.default_rng(seed)
    strengths = _centred(rng.normal(0, strength_sd, items))
    sigmas = np.exp(_centred(rng.normal(0, log_sigma_sd, judges)))
    biases = rng.normal(0, slot_sd, judges)
    shown = _all_showings(settings, rng) if rows is None else _some_showings(settings, rows, rng)
    logits = _logits(settings, shown, strengths, sigmas, biases, rng)
    return Simulation(
        Judgments(_table(settings, shown, _outcomes(settings, logits, rng)), f"simulate(seed={seed})"),
        strengths=_named(strengths, "item", "strength"),
        sigmas=_named(sigmas, "judge", "sigma"),
        slot_biases=_named(biases, "judge", "slot_bias"),
        settings=settings,
    )


@dataclass(frozen=True, eq=False)
class _Showings:
    """Codes of each row, (rows,) each; `showing` numbers the distinct (context, judge, first, second)."""

    context: np.ndarray
    judge: np.ndarray
    first: np.ndarray
    second: np.ndarray
    showing: np.ndarray
    repetition: np.ndarray


def _all_showings(settings: Settings, rng: np.random.Generator) -> _Showings:
    """Each context, judge, pair, order and repetition, in that order of nesting."""
    turns = 2 if settings.orders == "both" else 1
    shape = (settings.contexts, settings.judges, settings.pairs_per_context, turns)
    low, high = _pairs(settings, rng)
    swapped = np.broadcast_to(np.arange(turns) == 1, shape)
    if settings.orders == "random":
        swapped = rng.random(shape) < 0.5
    first = np.where(swapped, high[:, None, :, None], low[:, None, :, None]).ravel()
    second = np.where(swapped, low[:, None, :, None], high[:, None, :, None]).ravel()
    showing = np.repeat(np.arange(first.size), settings.repetitions)
    context, judge, _, _ = np.unravel_index(showing, shape)
    repetition = np.tile(np.arange(settings.repetitions), first.size)
    return _Showings(context, judge, first[showing], second[showing], showing, repetition)


def _some_showings(settings: Settings, rows: int, rng: np.random.Generator) -> _Showings:
    """`rows` showings, each of a random context, judge, pair and order."""
    context = rng.integers(settings.contexts, size=rows)
    judge = rng.integers(settings.judges, size=rows)
    low, high = _pairs(settings, rng)
    pair = rng.integers(settings.pairs_per_context, size=rows)
    low, high = (np.broadcast_to(ends, (settings.contexts, ends.shape[1]))[context, pair] for ends in (low, high))
    swapped = np.zeros(rows, bool) if settings.orders == "single" else rng.random(rows) < 0.5
    first, second = np.where(swapped, high, low), np.where(swapped, low, high)
    keys = ((context * settings.judges + judge) * settings.items + first) * settings.items + second
    showing, _ = pd.factorize(keys)
    repetition = pd.Series(showing).groupby(showing).cumcount().to_numpy()
    return _Showings(context, judge, first, second, showing, repetition)


def _pairs(settings: Settings, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """(contexts or 1, pairs) codes of the lower and the higher item of each pair.

    A number of pairs is a circulant design over items in random order: the whole circle first, then further distances
    in random order, each a step that takes every item twice.
    """
    n = settings.items
    if isinstance(settings.pairs, str):
        low, high = np.triu_indices(n, 1)
        return low[None], high[None]
    distances = np.concatenate(([1], rng.permutation(np.arange(2, (n + 1) // 2)), [n // 2] * (n % 2 == 0)))
    distance, start = np.divmod(np.arange(settings.pairs), n)
    stop = (start + distances.astype(np.int64)[distance]) % n
    order = rng.permuted(np.tile(np.arange(n), (settings.contexts, 1)), axis=1)
    return np.minimum(order[:, start], order[:, stop]), np.maximum(order[:, start], order[:, stop])


def _logits(
    settings: Settings,
    shown: _Showings,
    strengths: np.ndarray,
    sigmas: np.ndarray,
    biases: np.ndarray,
    rng: np.random.Generator,
) -> np.ndarray:
    """(rows,) log-odds that the first item wins."""
    gap = strengths[shown.first] - strengths[shown.second]
    if settings.context_sd:
        deviation = rng.normal(0, settings.context_sd, (settings.contexts, settings.items))
        gap += deviation[shown.context, shown.first] - deviation[shown.context, shown.second]
    logits = gap / sigmas[shown.judge] + biases[shown.judge]
    if settings.showing_sd:
        logits += rng.normal(0, settings.showing_sd, int(shown.showing.max()) + 1)[shown.showing]
    return logits


def _outcomes(settings: Settings, logits: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """(rows,) int8 codes of `OUTCOMES`; exp(-|z| / 2) keeps the three weights finite."""
    small = np.exp(-np.abs(logits))
    tie = settings.tie_rate * np.sqrt(small)
    first = np.where(logits >= 0, 1.0, small)
    draw = rng.random(len(logits)) * (1 + small + tie)
    outcome = np.where(draw < first, FIRST, np.where(draw < first + tie, TIE, SECOND)).astype(np.int8)
    call = rng.random(len(logits))
    outcome[call < settings.failure_rate + settings.uncertain_rate] = UNCERTAIN
    outcome[call < settings.failure_rate] = FAILURE
    return outcome


def _table(settings: Settings, shown: _Showings, outcome: np.ndarray) -> pd.DataFrame:
    """The coded table that `tables.judgments` would make of the same rows as text."""
    length = len(outcome)
    (context,) = _coded([shown.context], "context", settings.contexts)
    (judge,) = _coded([shown.judge], "judge", settings.judges)
    first, second = _coded([shown.first, shown.second], "item", settings.items)
    columns = {
        "context": context,
        "judge": judge,
        "first": first,
        "second": second,
        "outcome": outcome,
        "p_first": np.full(length, np.nan),
        "repetition": shown.repetition.astype(np.int64),
        "weight": np.ones(length),
        "group": context,
    }
    return pd.DataFrame(columns)


def _coded(codes: list[np.ndarray], kind: str, size: int) -> list[pd.Categorical]:
    """Columns over one vocabulary of the ids that occur in any of them."""
    used = np.logical_or.reduce([np.bincount(column, minlength=size) > 0 for column in codes])
    place = np.cumsum(used) - 1
    ids = pd.Index([name for name, seen in zip(_ids(kind, size), used, strict=True) if seen], dtype=object)
    return [pd.Categorical.from_codes(place[column], categories=ids, ordered=True) for column in codes]


def _ids(kind: str, size: int) -> list[str]:
    """item-001, item-002, ...: padded, so that the order of the texts is the order of the numbers."""
    width = max(3, len(str(size)))
    return [f"{kind}-{number:0{width}d}" for number in range(1, size + 1)]


def _named(values: np.ndarray, kind: str, name: str) -> pd.Series:
    return pd.Series(values, index=pd.Index(_ids(kind, len(values)), dtype=object, name=kind), name=name)


def _centred(values: np.ndarray) -> np.ndarray:
    return values - values.mean()


def _check_whole(name: str, value: object, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise SettingsError(f"{name} = {value!r}; expected a whole number of at least {least}.")


def _check_number(name: str, value: object) -> None:
    top = 1.0 if name in ("failure_rate", "uncertain_rate") else math.inf
    number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    if not number or not (0 <= value <= top and math.isfinite(value)):  # type: ignore[operator, arg-type]
        bounds = "of at least 0" if math.isinf(top) else "between 0 and 1"
        raise SettingsError(f"{name} = {value!r}; expected a finite number {bounds}.")
