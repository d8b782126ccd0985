"""How few votes hold up the first place or the top k, and which judge or context does."""

from juryrank.influence.change import Change
from juryrank.influence.report import Fragility, fragility

__all__ = ["Change", "Fragility", "fragility"]
