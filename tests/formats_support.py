"""What the tests of the formats share: files, refusals and a frame of odd ids."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from juryrank.errors import InputError
from juryrank.formats import read

ODD_IDS = [
    "NA",
    "None",
    "007",
    "tie",
    "null",
    "nan",
    "é – 模型",
    "a,b",
    'say "x"',
    "two\nlines",
    " lead",
    "True",
    "1.0",
]


def written(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def refusal(source: object, **options: object) -> str:
    with pytest.raises(InputError) as caught:
        read(source, **options)  # type: ignore[arg-type]
    return str(caught.value)


def same(left: pd.DataFrame, right: pd.DataFrame) -> None:
    pd.testing.assert_frame_equal(left, right, check_dtype=False)


def odd_frame() -> pd.DataFrame:
    """Judgments whose ids are all that a reader might take for something else."""
    n = len(ODD_IDS)
    return pd.DataFrame(
        {
            "context": [f"q{i % 3}" for i in range(n)],
            "judge": ["NA", "None"] * (n // 2) + ["007"] * (n % 2),
            "first": ODD_IDS,
            "second": ODD_IDS[1:] + ODD_IDS[:1],
            "outcome": ["first", "second", "tie", "both_bad", "uncertain", "failure"] * 2 + ["tie"],
            "p_first": [None if i % 4 else i / n for i in range(n)],
        }
    )
