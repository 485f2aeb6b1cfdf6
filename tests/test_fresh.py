"""run_fresh(): what the process prints, warns and dies of comes back; nothing of this process leaks into it."""

import os

import pytest

from fp8lab import fresh
from fp8lab.fresh import run_fresh


def test_what_is_printed_and_warned_comes_back_in_order():
    code = "import logging, warnings\nprint(1)\nlogging.getLogger('x').warning('careful')\nprint(2)"
    assert run_fresh(code, os.environ) == "1\ncareful\n2"


def test_an_exception_is_the_last_line_and_no_traceback():
    assert run_fresh("print('on the way')\n{}['key']", os.environ) == "on the way\nKeyError: 'key'"
    assert run_fresh("raise SystemExit(3)", os.environ) == "SystemExit: 3"
    assert run_fresh("1 +", os.environ).endswith("SyntaxError: invalid syntax")


def test_environment_is_the_one_given_and_only_that(monkeypatch):
    monkeypatch.setenv("FROM_HERE", "1")
    code = "import os; print(os.environ.get('FROM_HERE'), os.environ['GIVEN'])"
    assert run_fresh(code, {"GIVEN": "2"}) == "None 2"


def test_libraries_that_read_the_environment_are_not_loaded_yet():
    import kernels  # noqa: F401  here they are

    code = "import sys; print([name for name in ('kernels', 'huggingface_hub', 'fp8lab.hub') if name in sys.modules])"
    assert run_fresh(code, os.environ) == "[]"


def test_two_runs_share_nothing():
    run_fresh("import sys; sys.mine = 1", os.environ)
    assert run_fresh("import sys; print(hasattr(sys, 'mine'))", os.environ) == "False"


def test_a_process_that_dies_or_hangs_is_said_to(monkeypatch):
    with pytest.raises(RuntimeError, match="exit code 7 and no answer"):
        run_fresh("import os; os._exit(7)", os.environ)
    monkeypatch.setattr(fresh, "SECONDS", 2)
    with pytest.raises(RuntimeError, match="no answer within 2 seconds"):
        run_fresh("import time; time.sleep(60)", os.environ)
