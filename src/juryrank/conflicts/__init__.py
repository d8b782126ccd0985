"""Contradictions between preferences, beside what chance makes of the fitted model."""

from juryrank.conflicts.report import Contradictions, contradictions

__all__ = ["Contradictions", "contradictions"]
