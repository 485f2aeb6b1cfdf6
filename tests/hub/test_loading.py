"""What the loading explorer shows was tried: the requests are the server's, the messages those of `kernels`."""

import json

import pytest
from hub_clients import accounts

from fp8lab import check, loading, localbuild
from fp8lab.figures import Picture, hub_requests
from fp8lab.hub import Server, Store, client_environment
from fp8lab.hub.requests import Request, RequestLog
from fp8lab.widgets import loading_explorer

NONE, ONE, TWO, MAIN, TRUSTED = loading.CALLS


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    root = tmp_path_factory.mktemp("loading")
    accounts(root)
    store = Store(root)
    loading.publish_states(store, "alice")
    store.close()
    with Server(root, log=root / "requests.log") as server:
        yield loading.try_all(client_environment(server.endpoint, root / "client"), root / "requests.log")


def test_every_pair_was_tried_twice(outcomes):
    assert len(outcomes) == len(loading.CALLS) * len(loading.STATES) * 2


@pytest.mark.parametrize(("call", "state", "message"), [
    (NONE, "version 1 published", "ValueError: A kernel version or revision must be specified."),
    (ONE, "version 1 published", "returns the kernel; its answer() is 'v1'"),
    (ONE, "versions 1 and 2 published", "You are using version 1 of 'myorg/two', but version 2 is available."),
    (TWO, "versions 1 and 2 published", "returns the kernel; its answer() is 'v2'"),
    (TWO, "version 1 published", "ValueError: Version 2 not found, available versions: 1"),
    (ONE, "built for other machines only", "FileNotFoundError: Cannot find a build variant for this system"),
    (ONE, "publisher not trusted", "ValueError: Kernel repository 'newcomer/one' is not from a trusted publisher."),
    (TRUSTED, "publisher not trusted", "returns the kernel; its answer() is 'v1'"),
    (MAIN, "pushed to main, no version", "returns the kernel; its answer() is 'main'"),
    (ONE, "pushed to main, no version", "ValueError: Version 1 not found, available versions:"),
    (ONE, "no such repository", "huggingface_hub.errors.RepositoryNotFoundError: 404 Client Error."),
])
def test_message_of_a_call_on_a_state(outcomes, call, state, message):
    for time in loading.TIMES:
        outcome = outcomes[call, state, time]
        assert outcome.said.startswith(message)
        assert outcome.is_ok == ("returns the kernel" in outcome.said)


def test_first_load_asks_in_the_documented_order_and_the_next_one_three_things(outcomes):
    """The order of the calls is kernels 0.17.2's, read in resolver.py and install.py."""
    first, again = (outcomes[ONE, "version 1 published", time].requests for time in loading.TIMES)
    assert [request.purpose for request in first] == [
        "is the publisher trusted?", "which versions are there?", "which variants are there?", "what is this variant?",
        "what is this variant?", "which files has this commit?", "a file of the variant", "a file of the variant"]
    assert [request.purpose for request in again] == [request.purpose for request in first[:3]]
    assert {request.status for request in first} == {200}


def test_each_call_has_its_own_requests_only(outcomes):
    for (_, state, _), outcome in outcomes.items():
        owner, name = loading.STATES[state][0].split("/")
        for request in outcome.requests:
            assert f"/{owner}/{name}" in request.path or request.path == f"/api/organizations/{owner}/overview"
    assert not any(outcomes[NONE, state, "first time"].requests for state in loading.STATES)


def test_explorer_shows_the_chosen_outcome_and_every_move_changes_it(outcomes, monkeypatch):
    monkeypatch.setattr(Picture, "png", lambda self: b"")
    explorer = loading_explorer(outcomes)
    shown = {explorer.output.value}
    for control in (explorer.call, explorer.state, explorer.time):
        assert control.description
        for option in control.options:
            control.value = option[1] if isinstance(option, tuple) else option
            outcome = outcomes[explorer.call.value, explorer.state.value, explorer.time.value]
            assert explorer.summary.startswith(outcome.call) and explorer.time.value in explorer.summary
            shown.add(explorer.output.value)
    # the value shown first is an option too, and each control's first option repeats what was shown before it
    assert len(shown) >= len(explorer.call.options) + len(explorer.state.options) + 2 - 2


def test_log_gives_new_requests_once_and_decodes_their_paths(tmp_path):
    path = tmp_path / "log"
    path.write_text('INFO:     127.0.0.1:1 - "GET /old HTTP/1.1" 200 OK\n')
    log = RequestLog(path)
    with open(path, "a") as file:
        file.write('INFO:     Started\nINFO:     127.0.0.1:1 - "GET /api/kernels/a/b/tree/refs%2Fheads%2Fv1/build'
                   '?recursive=false HTTP/1.1" 404 Not Found\n')
    [request] = log.new()
    assert request == Request("GET", "/api/kernels/a/b/tree/refs/heads/v1/build", 404)
    assert request.purpose == "which variants are there?"
    assert log.new() == []


def test_picture_merges_head_and_get_and_names_no_port():
    path = "/kernels/a/b/resolve/0123456789012345678901234567890123456789/build/torch-cpu/__init__.py"
    requests = [Request("HEAD", path, 200), Request("GET", "/api/kernels/a/b/refs", 404), Request("GET", path, 200)]
    shown = hub_requests(requests, "Error: http://127.0.0.1:4711/api", "a call", is_ok=False)
    texts = [text.get_text() for text in shown.axes[0].texts]
    assert "HEAD GET" in texts and texts.count("200") == 1 and "404" in texts and "Error: /api" in texts
    assert "a call: 3 requests; then: Error: /api." in shown.summary


def test_next_version_is_a_repository_that_the_check_has_nothing_against(tmp_path, monkeypatch):
    localbuild.build()
    monkeypatch.setattr(check.shutil, "which", lambda name: None)  # tests/test_check.py asks Nix
    folder = loading.next_version(localbuild.ROOT, tmp_path / "second")
    assert 'version = 2' in (folder / "build.toml").read_text()
    versions = {json.loads(path.read_text())["version"] for path in folder.glob("build/*/metadata.json")}
    assert versions == {2}
    assert [*check.source(folder), *check.built(folder)] == []


def test_a_failure_to_try_is_said(tmp_path, monkeypatch):
    (tmp_path / "log").touch()
    monkeypatch.setattr(loading, "run_fresh", lambda code, environment: "ImportError: no kernels")
    with pytest.raises(RuntimeError, match="could not be tried: ImportError: no kernels"):
        loading.try_all({}, tmp_path / "log")
