"""The practice repository: what the parser says comes from the parser, what it lets through from our check."""

from fp8lab import practice

ROCM = """
[kernel.gemm_rocm]
backend = "rocm"
rocm-archs = ["gfx942"]
depends = ["torch"]
src = ["gemm/gemm_launcher.hip", "gemm/gemm_launcher.h", "gemm/gemm_kernel.h", "gemm/mfma.h"]
"""


def test_complete_file_is_accepted_without_a_complaint():
    assert practice.ask_parser(practice.WITHOUT_ROCM + ROCM) == "accepted: General(backends=[Cpu, Rocm])"
    assert practice.review(practice.WITHOUT_ROCM + ROCM) == []


def test_parsers_message_comes_without_the_folder():
    answer = practice.ask_parser(practice.WITHOUT_ROCM.replace("version = 1\n", ""))
    assert answer == "refused: Missing field version"
    assert practice.review("universal = true") == [practice.ask_parser("universal = true")]


def test_review_finds_what_the_parser_lets_through():
    text = practice.WITHOUT_ROCM + ROCM.replace('"gemm/mfma.h"', '"gemm/lds.h"').replace("gfx942", "gfx940")
    assert practice.ask_parser(text).startswith("accepted")
    found = "\n".join(practice.review(text))
    for part in ("gemm/lds.h, which does not exist", "gfx940 in rocm-archs", "gemm/mfma.h, which no src lists"):
        assert part in found
