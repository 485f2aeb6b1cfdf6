"""`fp8lab publish` against the Hub: the plan, the upload, a second version, and what stops it."""

import shutil
from concurrent.futures import ThreadPoolExecutor

import kernel_repository
import pytest
from hub_clients import Client
from huggingface_hub import HfApi
from huggingface_hub.errors import HfHubHTTPError

from fp8lab import check, publish
from fp8lab.cli import main


@pytest.fixture(autouse=True)
def without_nix(monkeypatch):
    """tests/test_check.py asks Nix; here it would only cost time."""
    monkeypatch.setattr(check.shutil, "which", lambda name: None)


@pytest.fixture
def api(hub):
    return HfApi(endpoint=hub.endpoint, token=hub.token)


@pytest.fixture
def root(tmp_path):
    return kernel_repository.make(tmp_path / "tiny", variants=["torch-cpu", "torch-rocm"])


def published(hub, repo_id, branch="v1"):
    return sorted(hub.files(repo_id, branch))


VARIANT = ["__init__.py", "metadata.json"]
BOTH = [f"build/{variant}/{name}" for variant in ("torch-cpu", "torch-rocm") for name in VARIANT]


def test_a_plan_sends_nothing_and_names_every_file(hub, api, root):
    todo = publish.plan(root, api, "myorg/planned")
    assert sorted(todo.files) == BOTH
    assert "myorg/planned, branch v1 (new)" in str(todo)
    assert all(path in str(todo) for path in BOTH)
    assert hub.call("GET", "/api/kernels/myorg/planned/refs").status == 404


def test_variants_land_on_the_version_branch_in_one_commit_and_the_card_on_main(hub, api, root):
    url = publish.upload(publish.plan(root, api, "myorg/uploaded"), api)
    assert url.startswith(f"{hub.endpoint}/kernels/myorg/uploaded/commit/")
    assert published(hub, "myorg/uploaded") == BOTH
    assert hub.files("myorg/uploaded", "main") == {
        "README.md": b"---\nlicense: apache-2.0\n---\n# myorg/uploaded 1\n- `answer`\n"}
    titles = [one["title"] for one in hub.call("GET", "/api/kernels/myorg/uploaded/commits/v1").json()]
    assert titles == ["Uploaded using `fp8lab publish`.", "initial commit"]


def test_publishing_again_replaces_the_variants_that_were_built_and_keeps_others(hub, api, root):
    publish.upload(publish.plan(root, api, "myorg/again"), api)
    for path in (root / "build/torch-rocm").iterdir():
        path.unlink()
    (root / "build/torch-rocm").rmdir()
    (root / "build/torch-cpu/extra.py").write_text("x = 1\n")
    kernel_repository.write_variant(root / "build/torch-cpu", answer=43)
    publish.upload(publish.plan(root, api, "myorg/again"), api)
    assert published(hub, "myorg/again") == sorted([*BOTH, "build/torch-cpu/extra.py"])
    (root / "build/torch-cpu/extra.py").unlink()
    kernel_repository.write_variant(root / "build/torch-cpu", answer=44)
    todo = publish.plan(root, api, "myorg/again")
    assert todo.stale == ["build/torch-cpu/extra.py"]
    publish.upload(todo, api)
    assert published(hub, "myorg/again") == BOTH
    assert b"return 44" in hub.files("myorg/again")["build/torch-cpu/__init__.py"]


def test_a_second_version_gets_a_branch_of_its_own(hub, api, root, tmp_path):
    publish.upload(publish.plan(root, api, "myorg/versions"), api)
    second = kernel_repository.make(tmp_path / "second", version=2, answer=43)
    publish.upload(publish.plan(second, api, "myorg/versions"), api)
    assert published(hub, "myorg/versions", "v1") == BOTH
    assert published(hub, "myorg/versions", "v2") == ["README.md", *BOTH[:2]]  # a branch starts as main is


@pytest.mark.parametrize("is_new", [True, False])
def test_of_two_publishers_of_one_version_the_second_learns_of_the_first(hub, api, root, tmp_path, is_new):
    repo_id = f"myorg/race-{is_new}"
    if not is_new:
        publish.upload(publish.plan(root, api, repo_id), api)
    plans = []
    for answer in (50, 51):
        other = kernel_repository.make(tmp_path / str(answer), answer=answer, variants=["torch-cpu", "torch-rocm"])
        plans.append(publish.plan(other, api, repo_id))

    def attempt(todo):
        try:
            return publish.upload(todo, api)
        except HfHubHTTPError as error:
            return str(error)

    with ThreadPoolExecutor(2) as pool:
        outcomes = list(pool.map(attempt, plans))
    said = "exists already" if is_new else "somebody committed since"
    assert sum(said in outcome for outcome in outcomes) == 1
    answers = {content for path, content in hub.files(repo_id).items() if path.endswith(".py")}
    assert len(answers) == 1  # both variants of one publisher


def test_a_finding_of_the_check_stops_it_with_the_remedy(api, root):
    (root / "build/torch-cpu/__init__.py").write_text("changed after the build")
    with pytest.raises(publish.PublishError, match=r"is not what was built: .*; build it again"):
        publish.plan(root, api, "myorg/stopped")


def test_nothing_built_stops_it_with_the_command_to_run(api, tmp_path):
    with pytest.raises(publish.PublishError, match="run `fp8lab build`"):
        publish.plan(kernel_repository.make(tmp_path / "bare", variants=[]), api)


def test_a_build_for_this_machine_only_is_not_offered_to_another(root):
    from markupsafe import _speedups  # an extension for one Python version

    shutil.copy(_speedups.__file__, root / "build/torch-cpu/op.abi3.so")
    kernel_repository.write_variant(root / "build/torch-cpu", uid="big")
    with pytest.raises(publish.PublishError, match="stable ABI"):
        publish.plan(root, HfApi(endpoint="https://hub.invalid"))


@pytest.mark.parametrize(("who", "said"), [("bob", "may not write to myorg"), ("stranger", "token is unknown")])
def test_a_token_without_the_right_is_told_so(hub, root, who, said):
    api = HfApi(endpoint=hub.endpoint, token=hub.tokens.get(who, "hf_wrong"))
    with pytest.raises(HfHubHTTPError, match=said):
        publish.upload(publish.Plan("myorg/forbidden", "v1", {}, "card"), api)


def test_the_command_is_a_dry_run_until_told_to_upload_and_says_how_to_load(hub, root, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("HF_TOKEN", hub.token)
    (root / "build/torch-cpu/weights.bin").write_bytes(bytes(5000))  # by LFS, without a word about Xet
    kernel_repository.write_variant(root / "build/torch-cpu")
    command = ["publish", str(root), "--endpoint", hub.endpoint, "--repo-id", "myorg/command"]
    assert main(command) == 0
    assert "Nothing was sent" in capsys.readouterr().out
    assert hub.call("GET", "/api/kernels/myorg/command/refs").status == 404
    assert main([*command, "--upload"]) == 0
    assert 'get_kernel("myorg/command", version=1)' in capsys.readouterr().out
    said = Client(tmp_path, hub.endpoint).script(
        "from kernels import get_kernel\nreport('answer', lambda: get_kernel('myorg/command', version=1).answer())")
    assert said["answer"] == 42


def test_an_unreachable_hub_is_one_line_not_a_traceback(root, capsys):
    assert main(["publish", str(root), "--endpoint", "http://127.0.0.1:9"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("fp8lab publish: ") and "Traceback" not in said
