"""Votes on one question -> the panel's word: every table of votes up to four judges, against the contract read aloud."""

from __future__ import annotations

from collections import Counter
from itertools import permutations, product

import pytest

import juryrank as jr

VOTES = ("A", "B", "tie", None)
ANSWERS = ("first", "second", "tie", "both_bad", "uncertain", "failure", None)
TURNED = {"first": "second", "second": "first"}
POLICIES = ("strict", "lenient", "soft")


def slow_plurality(votes: list[str | None], quorum: int) -> str:
    """The contract: strict over A, B and tie among decisive votes, with a quorum."""
    decisive = [vote for vote in votes if vote is not None]
    if len(decisive) < quorum:
        return "inconclusive"
    ahead = [x for x in ("A", "B", "tie") if all(decisive.count(x) > decisive.count(y) for y in {"A", "B", "tie"} - {x})]
    return ahead[0] if ahead else "inconclusive"


def slow_unanimous(votes: list[str | None]) -> str:
    """The contract: unreadable left out, none left unknown, any difference split."""
    readable = [vote for vote in votes if vote is not None]
    if not readable:
        return "unknown"
    return readable[0] if all(vote == readable[0] for vote in readable) else "split"


def opinions() -> list[tuple[jr.Reconciled, str | None, bool]]:
    """Every opinion of two answers under every policy: (opinion, its vote, flipped); votes come from status and winner."""
    found = []
    for policy, forward, reverse in product(POLICIES, ANSWERS, ANSWERS):
        opinion = jr.reconcile_pair(forward, reverse, policy)
        vote = {"win": opinion.winner, "tie": "tie"}.get(opinion.status)
        found.append((opinion, vote, opinion.flipped))
    return found


@pytest.mark.parametrize("quorum", [1, 2, 3])
@pytest.mark.parametrize("judges", [0, 1, 2, 3, 4])
def test_plurality_of_every_table_of_votes(judges, quorum):
    """Plurality is the strict largest of A, B and tie among at least `quorum` decisive votes, else inconclusive."""
    for votes in product(VOTES, repeat=judges):
        said = jr.panel_verdict(votes, quorum=quorum)
        assert said == slow_plurality(list(votes), quorum), (votes, quorum)


@pytest.mark.parametrize("judges", [0, 1, 2, 3, 4])
def test_unanimous_of_every_table_of_votes(judges):
    """Unanimity leaves unreadable votes out, calls a difference split and silence unknown."""
    for votes in product(VOTES, repeat=judges):
        assert jr.panel_verdict(votes, rule="unanimous") == slow_unanimous(list(votes)), votes


def test_order_of_the_votes_does_not_matter():
    """Any order of the same votes gives the same word."""
    for votes in product(VOTES, repeat=4):
        for rule in ("plurality", "unanimous"):
            assert len({jr.panel_verdict(turned, rule) for turned in permutations(votes)}) == 1


def test_a_large_panel_counts_votes():
    """With dozens of votes one more decides, and an equal number does not."""
    votes = ["A"] * 30 + ["B"] * 29 + ["tie"] * 29 + [None] * 50
    assert jr.panel_verdict(votes) == "A"
    assert jr.panel_verdict([*votes, "B"]) == "inconclusive"
    assert jr.panel_verdict([*votes, "B", "B"]) == "B"
    assert jr.panel_verdict([*votes, "tie", "tie"]) == "tie"
    assert jr.panel_verdict(votes, quorum=88) == "A"
    assert jr.panel_verdict(votes, quorum=89) == "inconclusive"


def test_reconciled_opinions_vote_as_their_status_says():
    """A lone opinion votes its winner or its tie, and anything else is no vote, under each policy."""
    for opinion, vote, flipped in opinions():
        assert jr.panel_verdict([opinion]) == slow_plurality([vote], 1), opinion
        assert jr.panel_verdict([opinion], "unanimous") == slow_unanimous(["tie" if flipped else vote]), opinion


def test_pairs_of_reconciled_opinions():
    """Two opinions, or one beside a word, are counted as their votes are."""
    strict = list(opinions()[: len(ANSWERS) ** 2])
    for (one, vote, flipped), (other, second, turned) in product(strict, repeat=2):
        assert jr.panel_verdict([one, other]) == slow_plurality([vote, second], 1)
        seen = ["tie" if flipped else vote, "tie" if turned else second]
        assert jr.panel_verdict([one, other], "unanimous") == slow_unanimous(seen)
    for (one, vote, flipped), word in product(strict, VOTES):
        assert jr.panel_verdict([one, word, one], quorum=2) == slow_plurality([vote, word, vote], 2)
        assert jr.panel_verdict([word, one], "unanimous") == slow_unanimous([word, "tie" if flipped else vote])


def test_a_flip_is_a_tie_under_unanimous_and_no_vote_under_plurality():
    """Always answering the first slot is no vote for a plurality and a tie for unanimity."""
    flip = jr.reconcile_pair("first", "first")
    assert (flip.status, flip.flipped) == ("disagreement", True)
    assert jr.panel_verdict([flip]) == "inconclusive"
    assert jr.panel_verdict([flip, "A"]) == "A"
    assert jr.panel_verdict([flip, "A"], quorum=2) == "inconclusive"
    assert jr.panel_verdict([flip], "unanimous") == "tie"
    assert jr.panel_verdict([flip, "tie", None], "unanimous") == "tie"
    assert jr.panel_verdict([flip, "A"], "unanimous") == "split"


def test_a_lenient_win_that_flipped_is_a_win_for_a_plurality_and_a_tie_for_unanimity():
    """Under the lenient policy win beside tie is a win that is still called flipped."""
    opinion = jr.reconcile_pair("first", "tie", "lenient")
    assert (opinion.status, opinion.winner, opinion.flipped) == ("win", "A", True)
    assert jr.panel_verdict([opinion]) == "A"
    assert jr.panel_verdict([opinion], "unanimous") == "tie"


def test_ties_forbidden_and_the_orders_disagree_is_never_a_tie():
    """C-36: with answers of first and second only, a plurality over any opinions never says tie."""
    opinion = [jr.reconcile_pair(f, r) for f, r in product(("first", "second", "failure"), repeat=2)]
    for votes in product(opinion, repeat=3):
        assert jr.panel_verdict(votes) in ("A", "B", "inconclusive")


def test_three_judges_two_of_which_fail_miss_a_quorum_of_three():
    """C-37: quorum 3, two failures and one A is inconclusive, and so is a two-two split."""
    failure = jr.reconcile_pair(None, None)
    for missing in (None, failure):
        assert jr.panel_verdict(["A", missing, missing], quorum=3) == "inconclusive"
        assert jr.panel_verdict(["A", missing, missing], quorum=2) == "inconclusive"
        assert jr.panel_verdict(["A", missing, missing]) == "A"
    assert jr.panel_verdict(["A", "A", "B", "B"]) == "inconclusive"
    assert jr.panel_verdict(["A", "A", "B", "B", "tie"]) == "inconclusive"


def test_a_stand_in_counts_towards_the_quorum():
    """C-37: the vote of whoever stood in for a failed judge makes the quorum full."""
    assert jr.panel_verdict(["A", None, "A", "B"], quorum=3) == "A"
    assert jr.panel_verdict(["A", None, "A"], quorum=3) == "inconclusive"


def test_votes_may_be_any_iterable():
    """A generator, a tuple and a dict's values are read alike."""
    votes = {"x": "A", "y": "A", "z": "B"}
    assert jr.panel_verdict(votes.values()) == jr.panel_verdict(v for v in votes.values()) == "A"


@pytest.mark.parametrize("rule", ["Plurality", "majority", "", "bt-sigma", None, 1])
def test_an_unknown_rule_is_refused(rule):
    """A rule that is not one of the two is an error that names both."""
    with pytest.raises(jr.SettingsError, match=r"plurality, unanimous"):
        jr.panel_verdict(["A"], rule=rule)


@pytest.mark.parametrize("quorum", [0, -1, 1.5, 2.0, True, "2", None, float("nan")])
def test_a_bad_quorum_is_refused(quorum):
    """A quorum is a whole number of at least 1."""
    with pytest.raises(jr.SettingsError, match="quorum"):
        jr.panel_verdict(["A"], quorum=quorum)


@pytest.mark.parametrize("vote", ["a", "C", "", "TIE", "both_bad", "first", 1, 0.5, float("nan"), True, ("A",)])
@pytest.mark.parametrize("rule", ["plurality", "unanimous"])
def test_a_bad_vote_is_refused_wherever_it_stands(vote, rule):
    """A vote that is none of the four is an error that shows it, also behind votes that already decide."""
    with pytest.raises(jr.SettingsError) as caught:
        jr.panel_verdict(["A", "A", "B", vote], rule)
    assert repr(vote) in str(caught.value)


@pytest.mark.parametrize("rule", ["plurality", "unanimous"])
def test_an_opinion_over_other_items_is_refused(rule):
    """C-38: a winner that is neither A nor B cannot be counted."""
    with pytest.raises(jr.SettingsError, match="sysX"):
        jr.panel_verdict(["A", jr.reconcile_pair("first", "second", items=("sysX", "sysY"))], rule)


def test_a_text_is_not_a_list_of_votes():
    """The text "AB" is refused, and not read as a vote for A and one for B."""
    with pytest.raises(jr.SettingsError, match="'AB'"):
        jr.panel_verdict("AB")


def test_turning_both_answers_turns_the_word():
    """Exchanging the two systems in every answer exchanges A and B in the word."""
    mirror = {"A": "B", "B": "A"}
    for pairs in product(product(("first", "second", "tie", "failure"), repeat=2), repeat=2):
        plain = [jr.reconcile_pair(f, r) for f, r in pairs]
        turned = [jr.reconcile_pair(TURNED.get(f, f), TURNED.get(r, r)) for f, r in pairs]
        for rule in ("plurality", "unanimous"):
            word = jr.panel_verdict(plain, rule)
            assert jr.panel_verdict(turned, rule) == mirror.get(word, word)


def test_the_words_are_few():
    """A plurality says A, B, tie or inconclusive; unanimity says A, B, tie, split or unknown; and each is said."""
    words = {rule: Counter() for rule in ("plurality", "unanimous")}
    for rule, counter in words.items():
        counter.update(jr.panel_verdict(votes, rule) for votes in product(VOTES, repeat=3))
    assert set(words["plurality"]) == {"A", "B", "tie", "inconclusive"}
    assert set(words["unanimous"]) == {"A", "B", "tie", "split", "unknown"}
