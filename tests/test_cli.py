"""The command line as a user meets it: answers, exit codes, files."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

import juryrank as jr
from juryrank.cli import run
from juryrank.cli.render import printable
from juryrank.formats.write import write

EXAMPLE = Path(jr.__file__).parent / "examples" / "panel.csv"


@pytest.fixture
def call(capfd):
    """Run the command line in this process: (exit code, standard output, standard error)."""

    def command(*arguments):
        code = run([str(a) for a in arguments])
        return code, *capfd.readouterr()

    return command


@pytest.fixture
def authored(tmp_path):
    """The authored audit of four candidates, as left/right choices."""
    answers = {"ab": "left right", "ac": "right left", "ad": "tie tie", "bc": "left right", "bd": "uncertain uncertain"}
    answers["cd"] = "left left"
    lines = []
    for (a, b), both in answers.items():
        forward, reverse = both.split()
        lines += [{"left": a, "right": b, "choice": forward}, {"left": b, "right": a, "choice": reverse}]
    path = tmp_path / "authored.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    return path


def test_rank_json_is_the_library_result(call, authored):
    """`rank --json` prints exactly what `jr.rank(...).to_dict()` holds."""
    code, out, _ = call("rank", authored, "--json")
    assert code == 0
    assert json.loads(out) == jr.rank(authored).to_dict()


def test_rank_json_has_the_promised_shape(call, authored):
    """The document has the keys, counts and order of the authored example."""
    _, out, _ = call("rank", authored, "--json")
    document = json.loads(out)
    assert document["schema"] == "juryrank.ranking/1"
    assert document["counts"] == {"win": 3, "tie": 1, "uncertain": 1, "disagreement": 1, "failure": 0}
    assert document["scheduled_calls"] == 12
    assert [row["item"] for row in document["ranking"]] == list("abcd")
    assert {row["decided_by"] for row in document["ranking"]} == {"id"}
    assert document["diagnostics"]["cycle"] == ["a", "b", "c", "a"]
    assert set(document["fit"]) >= {
        *("model", "on", "policy", "contexts", "prior", "ties", "tie_parameter", "slot_bias", "covariance", "level"),
        *("converged", "gradient_norm", "iterations", "log_likelihood", "objective", "comparisons"),
    }


def test_rank_table_says_what_was_read(call):
    """Without --json a person sees the verdict and the judges, and on standard error the format and the counts."""
    code, out, err = call("rank", EXAMPLE)
    assert code == 0
    assert out.splitlines()[0].startswith(("Top tier", "No certain"))
    assert "judge-001" in out and "sigma" in out
    assert "format 'judgments'" in err


def test_audit_says_in_words(call, authored):
    """`audit` names the cycle, the flips and the places that rest on ids."""
    code, out, _ = call("audit", authored)
    assert code == 0
    assert "a beats b beats c beats a" in out
    assert "stand in the order of their ids: a, b, c, d" in out
    assert "answers otherwise in the other order on 20%" in out


def test_audit_names_groups_without_a_comparison(call, tmp_path):
    """`audit` names the groups that nothing connects, by their items."""
    path = tmp_path / "split.csv"
    path.write_text("item_a,item_b,win_a,win_b\nA,B,3,1\nC,D,3,1\n")
    code, out, _ = call("audit", path)
    assert code == 0
    assert "2 groups have no comparison between them" in out
    assert "- A, B" in out and "- C, D" in out


BAD = {
    "unknown outcome": ("first,second,outcome\na,b,first\na,c,banana\n", "row 2, column 'outcome': 'banana'"),
    "empty outcome": ("first,second,outcome\na,b,\n", "row 1, column 'outcome': an empty cell"),
    "self comparison": (
        "first,second,outcome\na,b,first\nc,c,first\n",
        "row 2, column 'first': 'c' is compared with itself",
    ),
    "negative weight": ("first,second,outcome,weight\na,b,first,-1\n", "row 1, column 'weight': '-1'"),
    "nan weight": ("first,second,outcome,weight\na,b,first,nan\n", "row 1, column 'weight': 'nan'"),
    "empty file": ("", "empty"),
    "no known columns": ("x,y\n1,2\n", "the columns fit no format"),
}


@pytest.mark.parametrize(("text", "says"), BAD.values(), ids=BAD.keys())
@pytest.mark.parametrize("command", ["rank", "audit"])
def test_bad_input_is_exit_2(call, tmp_path, command, text, says):
    """Bad input ends with exit code 2, nothing on standard output, and the place and the value on standard error."""
    path = tmp_path / "bad.csv"
    path.write_text(text)
    code, out, err = call(command, path)
    assert (code, out) == (2, "")
    assert says in err and "bad.csv" in err


@pytest.mark.parametrize(
    "options",
    [
        *(["--model", "elo"], ["--prior", "-1"], ["--prior", "wide"], ["--column", "first"], ["--level", "2"]),
        *(["--items", "nowhere.txt"], ["--on", "showings", "--format", "wins"], ["--weights", "consistency"]),
    ],
    ids=" ".join,
)
def test_bad_usage_is_exit_2(call, authored, options):
    """An option without a meaning ends with exit code 2 and no ranking."""
    code, out, _ = (
        call("rank", authored, *options) if options[0] != "--weights" else call("rank", _wins(authored.parent), *options)
    )
    assert (code, out) == (2, "")


def _wins(folder):
    path = folder / "wins.csv"
    path.write_text("item_a,item_b,win_a,win_b\nA,B,3,1\n")
    return path


def test_no_usable_verdict_is_exit_3(call, tmp_path):
    """A source of failures alone gives exit code 3 and no ranking; `audit` still tells what was asked."""
    path = tmp_path / "down.csv"
    path.write_text("first,second,outcome\n" + "a,b,failure\nb,a,failure\n" * 5)
    code, out, err = call("rank", path, "--json")
    assert (code, out) == (3, "")
    assert "no ranking" in err
    code, out, _ = call("audit", path, "--json")
    assert code == 3
    document = json.loads(out)
    assert document["counts"]["failure"] == 1 and document["decided_by_id"] is None


def test_flips_alone_rank_by_id_and_warn(call, tmp_path):
    """A source of flips alone is ranked by id with a warning, and not at all where flips are dropped."""
    path = tmp_path / "flips.csv"
    path.write_text("first,second,outcome\na,b,first\nb,a,first\n")
    code, out, err = call("rank", path)
    assert code == 0 and "placed by id" in out and "not one accepted win" in err
    assert call("rank", path, "--disagreements", "drop")[0] == 3


def test_columns_are_mapped(call, tmp_path):
    """`--column ours=theirs` reads a table with other names, and errors use the user's names."""
    path = tmp_path / "named.csv"
    path.write_text("l,r,verdict\na,b,first\nb,a,sideways\n")
    arguments = ("--column", "first=l", "--column", "second=r", "--column", "outcome=verdict")
    code, _, err = call("rank", path, *arguments)
    assert code == 2 and "row 2, column 'verdict': 'sideways'" in err
    path.write_text("l,r,verdict\na,b,first\nb,a,second\n")
    assert call("rank", path, *arguments)[0] == 0


def test_roster_lists_the_unseen_and_refuses_the_unknown(call, tmp_path):
    """A roster item without a row is listed unscored; a row with an item that is not on the roster is refused (C-20)."""
    roster = tmp_path / "roster.txt"
    roster.write_text("A\nB\nZ\n")
    _, out, _ = call("rank", _wins(tmp_path), "--items", roster, "--json")
    last = json.loads(out)["ranking"][-1]
    assert (last["item"], last["rank"], last["strength"], last["flags"]) == ("Z", None, None, ["not observed"])
    roster.write_text("A\n")
    code, _, err = call("rank", _wins(tmp_path), "--items", roster)
    assert code == 2 and "'B'" in err


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_simulate_writes_what_rank_reads(call, tmp_path, suffix):
    """`simulate` writes the same judgments in every format, with their truth, and never over a file."""
    out, truth = tmp_path / f"made{suffix}", tmp_path / "truth.json"
    arguments = ("simulate", "-o", out, "--truth", truth, "--items", 5, "--judges", 2, "--seed", 4)
    assert call(*arguments)[0] == 0
    expected = jr.simulate(items=5, judges=2, seed=4)
    pd.testing.assert_frame_equal(jr.read(out).frame, expected.judgments.frame)
    assert json.loads(truth.read_text())["strengths"] == expected.strengths.to_dict()
    code, _, err = call(*arguments)
    assert code == 2 and "there already" in err
    assert call(*arguments, "--force")[0] == 0
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([out.name, "truth.json"])


def test_simulate_refuses_another_suffix(call, tmp_path):
    """A file name that says no format is refused before anything is drawn."""
    code, _, err = call("simulate", "-o", tmp_path / "made.xlsx")
    assert code == 2 and ".xlsx" in err


def test_demo_shows_the_bundled_example(call):
    """`demo` ranks and audits the example that the package carries."""
    code, out, _ = call("demo")
    assert code == 0 and "item-001" in out and "What contradicts" in out
    assert json.loads(call("demo", "--json")[1]) == jr.rank(EXAMPLE).to_dict()


def test_help_is_light():
    """`juryrank --help` starts without jax, pandas or numpy."""
    code = (
        "import sys; from juryrank.cli import run; run(['--help']);"
        "print([m for m in ('jax', 'pandas', 'numpy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]" and "rank" in done.stdout


def test_interrupt_leaves_no_file(tmp_path):
    """Ctrl-C ends with exit code 130 and leaves neither a file nor a part of one."""
    out = tmp_path / "big.csv"
    command = [sys.executable, "-m", "juryrank", "simulate", "-o", str(out), "--rows", "3000000", "--items", "500"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob(".big*")):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130 and "interrupted" in err
    assert list(tmp_path.iterdir()) == []


def test_terminal_text_cannot_steer():
    """Escapes, bidirectional controls and line breaks in an id are spelled out."""
    assert printable("a\x1b[31mb\u202ec\n") == "a\\x1b[31mb\\u202ec\\n"


@pytest.fixture
def duel(tmp_path):
    """Two systems over forty questions."""
    path = tmp_path / "duel.csv"
    write(jr.simulate(items=2, judges=4, contexts=40, tie_rate=0.2, failure_rate=0.02, seed=3).judgments, path)
    return path


def test_compare_json_is_the_library_result(call, duel):
    """`compare --json` prints exactly what `jr.compare_systems(...).to_dict()` holds, with or without naming the two."""
    code, out, _ = call("compare", duel, "--a", "item-002", "--b", "item-001", "--json")
    assert code == 0
    assert json.loads(out) == jr.compare_systems(duel, a="item-002", b="item-001").to_dict()
    assert json.loads(call("compare", duel, "--json")[1])["a"] == "item-001"


def test_compare_names_the_systems(call, duel):
    """For a person the verdict, the rates and the judges' columns carry the systems' names."""
    code, out, _ = call("compare", duel)
    assert code == 0
    assert "item-001 wins" in out.splitlines()[0] and "of the decided" in out and "judge-001" in out


def test_compare_takes_labels_and_families(call, duel, tmp_path):
    """Known winners are read from a table, stand in the weighted verdict, and give every judge an accuracy."""
    labels = tmp_path / "labels.csv"
    labels.write_text("context,winner\ncontext-001,item-002\ncontext-002,item-001\n")
    arguments = ("compare", duel, "--labels", labels, "--family", "judge-001=x", "--family", "judge-002=x", "--json")
    document = json.loads(call(*arguments)[1])
    winners = {q["context"]: q["weighted_winner"] for q in document["questions"]}
    assert (winners["context-001"], winners["context-002"]) == ("item-002", "item-001")
    assert document["labelled"][0]["labelled"] in (0, 1, 2)
    assert "family x" in [row["left_out"] for row in document["without"]]
    labels.write_text("context,winner\ncontext-001,item-002\ncontext-001,item-001\n")
    code, _, err = call(*arguments)
    assert code == 2 and "labels.csv, row 2, column 'winner'" in err


@pytest.mark.parametrize(
    "options", [("--a", "nobody"), ("--a", "item-001", "--b", "item-001"), ("--quorum", "0"), ("--labels", "nowhere.csv")]
)
def test_compare_refuses_what_has_no_meaning(call, duel, options):
    """A system that never appears, one system twice, a quorum of nothing and absent labels end with exit code 2."""
    code, out, _ = call("compare", duel, *options)
    assert (code, out) == (2, "")
