"""Two systems over many questions: panel verdicts, reliability-weighted rules, the A/B report."""

from juryrank.verdicts.panel import panel_verdict
from juryrank.verdicts.report import ABReport, compare_tables

__all__ = ["ABReport", "compare_tables", "panel_verdict"]
