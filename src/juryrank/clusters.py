"""Covariances that do not trust the model: sandwich and cluster-robust, in the gauge of the report.

    sandwich   C (sum over opinions of u u^T) C                 C the model-based covariance, u the score of one opinion;
                                                                where showings were fitted, all showings of a pair to a
                                                                judge are one opinion (Huber 1967, White 1980)
    cluster    sum over clusters g of d_g d_g^T,  d_g = C (I - H_g C)^-1/2 u_g
               u_g and H_g being score and expected information of the whole cluster: a fit follows its own data, so that
               scores are too small by the root of 1 - leverage ("CR2": Bell and McCaffrey 2002). Chosen over the plain
               sum, too narrow with few opinions an item, and the jackknife, too wide (benchmarks/coverage.py)
    both       group + judge - their intersection (Cameron, Gelbach and Miller 2011), negative variances set to zero

A direction that only one cluster speaks of has no second opinion, and a gap without a finite maximum has no residuals to
speak of: there the expected information stands in.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array, csr_array

from juryrank.columns import number_rows, value_codes
from juryrank.evidence import Evidence, Pull, pull, scores
from juryrank.information import Covariance
from juryrank.layout import Layout
from juryrank.objective import Parameters

#: a share of the information on some direction from which one cluster owns it
OWNED = 1 - 1e-6
#: cells of dense matrices that are held at a time
CELLS = 4_000_000


@dataclass(frozen=True, eq=False)
class Robust:
    """A covariance, and how many clusters it rests on."""

    covariance: Covariance
    #: (nodes,) clusters that each node occurs in, and that its component does
    clusters_of: np.ndarray
    clusters: np.ndarray


def sandwich(ties: str, found: Evidence, layout: Layout, at: Parameters, model: Covariance) -> Covariance:
    """Opinions are the clusters, with the scores as they are: k equal rows shrink every standard error by sqrt(k)."""
    whole, border = model.whole, at.border.size
    said = pull(ties, found, layout, at)
    each = scores(said, border)
    if len(np.unique(found.opinion)) == len(found):
        by_opinion = csr_array(each.multiply(np.sqrt(found.count * found.two_way)[:, None]))
    else:
        by_opinion = _summed(each, found.count * found.two_way, found.opinion)
    meat = (by_opinion.T @ by_opinion).toarray() + _information(said, found.count * ~found.two_way)
    return model.with_whole(whole @ meat @ whole)


def clustered(ties: str, found: Evidence, layout: Layout, at: Parameters, model: Covariance, cluster: np.ndarray) -> Robust:
    """`cluster`: (rows,) number of the cluster of each row."""
    whole = model.whole
    said = pull(ties, found, layout, at)
    loose = ~found.two_way
    meat = _information(said, found.count * loose) if loose.any() else np.zeros_like(whole)
    kept = np.flatnonzero(found.two_way)
    cells = _Cells.of(found, said, kept, cluster, at.border.size)
    matrix = whole @ meat @ whole
    for moved in _moves(cells, whole):
        matrix += moved.T @ moved
    group = np.where(layout.place >= 0, layout.problem.component.reshape(-1)[layout.place], -1)
    own = _occurrences(cluster, found.a, found.b, len(layout.place))
    return Robust(
        model.with_whole(matrix), own, _occurrences(cluster, group[found.a], group[found.b], int(group.max()) + 1)[group]
    )


def both_ways(group: Robust, judge: Robust, crossed: Robust) -> Robust:
    """Dependence within groups and within judges."""
    matrix = group.covariance.whole + judge.covariance.whole - crossed.covariance.whole
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    positive = (vectors * np.maximum(values, 0)) @ vectors.T
    return Robust(
        group.covariance.with_whole(positive),
        np.minimum(group.clusters_of, judge.clusters_of),
        np.minimum(group.clusters, judge.clusters),
    )


@dataclass(frozen=True, eq=False)
class _Cells:
    """Rows of one cluster with the same design, summed; sorted by cluster."""

    design: csr_array
    score: csr_array
    bend: np.ndarray
    start: np.ndarray  # (clusters + 1,)

    @classmethod
    def of(cls, found: Evidence, said: Pull, kept: np.ndarray, cluster: np.ndarray, border: int) -> _Cells:
        slot = found.slot[kept].astype(np.int64) + 1
        alike = value_codes(None if found.x is None else found.x[kept])
        number, keys = number_rows(cluster[kept], found.a[kept], found.b[kept], found.judge[kept], slot, *alike)
        count, cells = found.count[kept], len(keys)
        first = np.empty(cells, np.int64)
        first[number[::-1]] = kept[::-1]
        _, start = np.unique(keys[:, 0], return_index=True)
        return cls(
            csr_array(said.design[first]),
            _summed(csr_array(scores(said, border)[kept]), count, number),
            np.bincount(number, weights=count * said.bend[kept], minlength=cells),
            np.append(start, cells),
        )

    def some(self, cells: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Design, score and bend of some cells, dense."""
        return self.design[cells].toarray(), self.score[cells].toarray(), self.bend[cells]


def _moves(cells: _Cells, whole: np.ndarray) -> Iterator[np.ndarray]:
    """(some clusters, parameters) how far each moves the fit, in batches of clusters of one size."""
    size = np.diff(cells.start)
    parameters = len(whole)
    half = None
    for cells_each in np.unique(size):
        places = np.flatnonzero(size == cells_each)
        if cells_each <= parameters:
            step = max(1, CELLS // int(cells_each * (parameters + cells_each)))
            for some in np.split(places, range(step, len(places), step)):
                yield from _small(cells, whole, cells.start[some][:, None] + np.arange(cells_each))
            continue
        half = _half(whole) if half is None else half
        for place in places:
            yield from _large(cells, half, np.arange(cells.start[place], cells.start[place + 1]))


def _small(cells: _Cells, whole: np.ndarray, members: np.ndarray) -> Iterator[np.ndarray]:
    """Clusters (clusters, cells) with fewer cells than parameters: (I - F^T C F)^-1/2 with H_g = F F^T."""
    clusters, each = members.shape
    design, score, bend = cells.some(members.ravel())
    reach = (design * np.sqrt(bend)[:, None]) @ whole
    factor = (design * np.sqrt(bend)[:, None]).reshape(clusters, each, -1)
    reach = reach.reshape(clusters, each, -1)
    total = score.reshape(clusters, each, -1).sum(axis=1)
    share, axes = np.linalg.eigh(reach @ np.swapaxes(factor, 1, 2))
    owned = share > OWNED
    along = np.einsum("gip,gp->gi", reach, total)
    turned = np.einsum("gij,gi->gj", axes, along)
    grown = turned * np.where(owned, -1.0, _grown(np.where(owned, 0.0, share)))
    yield total @ whole + np.einsum("gip,gij,gj->gp", reach, axes, grown)
    if owned.any():
        group, axis = np.nonzero(owned)
        yield np.einsum("gip,gi->gp", reach[group], axes[group, :, axis])


def _large(cells: _Cells, half: np.ndarray, members: np.ndarray) -> Iterator[np.ndarray]:
    """One cluster with more cells than parameters: (I - A^T H_g A)^-1/2 with C = A A^T."""
    design, score, bend = cells.some(members)
    reached = design @ half
    share, axes = np.linalg.eigh((reached * bend[:, None]).T @ reached)
    owned = share > OWNED
    turned = axes.T @ (half.T @ score.sum(axis=0))
    yield (half @ (axes @ np.where(owned, 0.0, turned / np.sqrt(1 - np.where(owned, 0.0, share)))))[None]
    if owned.any():
        yield (half @ axes[:, owned]).T


def _grown(share: np.ndarray) -> np.ndarray:
    """((1 - share)^-1/2 - 1) / share, which is 1/2 at 0."""
    share = np.maximum(share, 1e-9)
    return ((1 - share) ** -0.5 - 1) / share


def _half(whole: np.ndarray) -> np.ndarray:
    values, vectors = np.linalg.eigh(whole)
    kept = values > values.max(initial=0) * 1e-12
    return vectors[:, kept] * np.sqrt(values[kept])


def _information(said: Pull, weight: np.ndarray) -> np.ndarray:
    """(parameters, parameters) expected information of weighted rows."""
    root = csr_array(said.design.multiply(np.sqrt(weight * said.bend)[:, None]))
    return (root.T @ root).toarray()


def _summed(each: csr_array, weight: np.ndarray, number: np.ndarray) -> csr_array:
    """Rows with one number, times their weights, summed."""
    shape = (int(number.max(initial=-1)) + 1, len(number))
    return csr_array(coo_array((weight, (number, np.arange(len(number)))), shape=shape).tocsr() @ each)


def _occurrences(cluster: np.ndarray, a: np.ndarray, b: np.ndarray, n: int) -> np.ndarray:
    """(n,) in how many clusters each of n things, at the ends a and b of rows, occurs."""
    _, pairs = number_rows(np.tile(cluster, 2), np.concatenate([a, b]))
    return np.bincount(pairs[:, 1], minlength=n)
