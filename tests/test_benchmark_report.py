"""benchmarks/report.py: how rows are taken, judged, printed and written. Nothing here looks at a clock."""

import json

import pytest

from benchmarks import report


def test_contestants_run_in_turn_after_one_round_to_warm_up():
    calls = []
    times = report.medians({"ours": lambda: calls.append("o"), "peer": lambda: calls.append("p")}, rounds=3)
    assert "".join(calls) == "opopopop" and times.keys() == {"ours", "peer"}


@pytest.mark.parametrize(("ours", "target", "met"), [(10, 3, True), (10.1, 3, False), (10, None, None)])
def test_a_target_is_met_from_its_ratio_on(ours, target, met):
    assert report.row("x", ours, 30, "peer", target).met is met


@pytest.mark.parametrize(("ours", "peer", "more", "ratio", "met"), [
    (90, 45, True, 2, True), (45, 90, True, 0.5, False), (0, 0, False, 1, True), (0, 65, False, None, True),
    (1, 0, False, 0, False), (0, 2, True, 0, False)])  # fmt: skip
def test_more_may_be_better_and_nothing_may_be_best(ours, peer, more, ratio, met):
    made = report.row("x", ours, peer, "peer", 1, more_is_better=more)
    assert (made.ratio, made.met) == (ratio, met)


def test_a_bar_is_met_by_what_reaches_it():
    assert [report.bar("x", ours, 1.13).met for ours in (1.12, 1.13, 1.131)] == [True, True, False]
    assert [report.bar("x", ours, 90, at_least=True).met for ours in (89, 90, 91)] == [False, True, True]


def test_the_table_and_the_file_say_the_same(tmp_path, capsys):
    rows = [report.row("gemm, ms", 10, 31, "torch", 3), report.row("gemm, ms", 10, 5, "bound"),
            report.row("build, s", 1, 2, "make")]
    assert report.report("bench", rows, tmp_path)
    assert json.loads((tmp_path / "bench.json").read_text()) == [
        {"name": "gemm, ms, beside torch", "ours": 10, "peer": 31, "peer_name": "torch", "ratio": 3.1, "target": 3,
         "met": True},
        {"name": "gemm, ms, beside bound", "ours": 10, "peer": 5, "peer_name": "bound", "ratio": 0.5, "target": None,
         "met": None},
        {"name": "build, s", "ours": 1, "peer": 2, "peer_name": "make", "ratio": 2, "target": None, "met": None},
    ]
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split("  ")[-1] == "3× met" and "0.50×" in lines[2]


def test_a_missed_target_is_said_and_returned(tmp_path, capsys):
    assert not report.report("bench", [report.row("gemm", 10, 20, "torch", 3)], tmp_path)
    assert "3× MISSED" in capsys.readouterr().out
