"""A Hub in its own process on a real socket, shared by all tests that only add repositories of their own name."""

import itertools

import pytest
from hub_clients import LocalHub, accounts

from fp8lab.hub import Server

COUNTER = itertools.count()


@pytest.fixture(scope="session")
def hub(tmp_path_factory):
    root = tmp_path_factory.mktemp("hub")
    tokens = accounts(root)
    with Server(root, log=root / "requests.log") as server:
        yield LocalHub(root, server.endpoint, tokens)


@pytest.fixture
def repo(hub):
    """A new repository of the trusted organisation with an empty branch v1."""
    repo_id = f"myorg/kernel-{next(COUNTER)}"
    hub.create(repo_id)
    return repo_id
