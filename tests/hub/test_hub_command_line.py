"""`fp8lab hub user`, `org` and `verify`, each in its own process or not: a running server sees what they change."""

import pytest
from hub_clients import add

from fp8lab.cli import main


def said(capsys, *words):
    status = main(["hub", *map(str, words)])
    out, err = capsys.readouterr()
    return status, out.strip(), err.strip()


def test_a_user_made_while_the_server_runs_may_write_at_once(hub, capsys):
    status, token, _ = said(capsys, "user", hub.root, "carol")
    assert (status, token.startswith("hf_")) == (0, True)
    assert hub.call("GET", "/api/whoami-v2", token=token).json()["name"] == "carol"
    wanted = {"type": "kernel", "name": "hers", "organization": None}
    assert hub.call("POST", "/api/repos/create", wanted, token).json()["name"] == "carol/hers"


def test_an_organisation_gains_trust_and_loses_it(hub, capsys):
    for flags, trusted in ((["--trusted", "--member", "bob"], True), ([], False)):
        assert said(capsys, "org", hub.root, "newfound", *flags)[0] == 0
        answer = hub.call("GET", "/api/organizations/newfound/overview").json()
        assert answer["trustedKernelPublisher"] is trusted
    wanted = {"type": "kernel", "name": "x", "organization": "newfound"}
    assert hub.call("POST", "/api/repos/create", wanted, hub.tokens["bob"]).status == 200  # he stays a member


@pytest.mark.parametrize(("words", "error"), [
    (["user", "a--b"], "is refused: needs letters"), (["user", "myorg"], "exists already as an organisation"),
    (["org", "alice"], "exists already as a user"), (["org", "x", "--member", "nobody"], "No user nobody")])
def test_a_mistake_is_one_sentence(hub, capsys, words, error):
    status, out, err = said(capsys, words[0], hub.root, *words[1:])
    assert (status, out) == (1, "")
    assert error in err


def test_tokens_are_not_on_the_disk_in_clear(hub):
    hub.commit("myorg/none")  # whatever the server may write
    contents = b"".join(path.read_bytes() for path in hub.root.rglob("*") if path.is_file())
    assert hub.token.encode() not in contents


def test_verify_counts_the_files_and_finds_them_intact(hub, repo, capsys):
    hub.commit(repo, add("x.py", b"x = 1\n"))
    status, out, _ = said(capsys, "verify", hub.root)
    assert (status, out.endswith(" 0 missing or altered")) == (0, True)
