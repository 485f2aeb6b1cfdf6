"""`hf` and HfApi as installed, against the Hub: creating, uploading, reading back, deleting, and their errors."""

import pytest
from hub_clients import Client, write_kernel

PUBLISH = """
from huggingface_hub import HfApi
api, repo = HfApi(), dict(repo_id="myorg/gemm", repo_type="kernel")
report("whoami", lambda: [api.whoami()["name"], [org["name"] for org in api.whoami()["orgs"]]])
report("create", lambda: str(api.create_repo(**repo, exist_ok=True)))
for version in (1, 2):
    report(f"branch {version}", lambda: api.create_branch(**repo, branch=f"v{version}"))
    report(f"branch {version} again", lambda: api.create_branch(**repo, branch=f"v{version}", exist_ok=True))
    report(f"upload {version}", lambda: api.upload_folder(**repo, folder_path=f"k{version}", revision=f"v{version}",
                                                          commit_message=f"version {version}").oid)
report("upload 1 again", lambda: api.upload_folder(**repo, folder_path="k1", revision="v1").oid)
report("card", lambda: api.upload_file(**repo, path_or_fileobj=b"---\\nlicense: apache-2.0\\n---\\n# gemm\\n",
                                       path_in_repo="README.md").oid)
report("bad card", lambda: api.upload_file(**repo, path_or_fileobj=b"---\\na: [\\n---\\n", path_in_repo="README.md"))
report("refs", lambda: {b.name: b.target_commit for b in api.list_repo_refs(**repo).branches})
report("files", lambda: sorted(api.list_repo_files(**repo, revision="v1")))
report("lfs", lambda: [f.path for f in api.get_paths_info(**repo, revision="v1", paths=[
    "build/torch-cpu/weights.bin", "build/torch-cpu/__init__.py"]) if f.lfs])
report("history", lambda: [c.title for c in api.list_repo_commits(**repo, revision="v1")])
report("exists", lambda: [api.file_exists(**repo, filename=f, revision="v2") for f in ("build/x", ".gitattributes")])
report("snapshot", lambda: sorted(str(p.relative_to(folder)) for folder in [Path(api.snapshot_download(
    **repo, revision="v1"))] for p in folder.rglob("*") if p.is_file()))
report("verify", lambda: vars(api.verify_repo_checksums(**repo, revision="v1")))
blob = next(p for p in Path(api.snapshot_download(**repo, revision="v1")).rglob("weights.bin")).resolve()
blob.write_bytes(blob.read_bytes()[:-1] + b"!")
report("verify tampered", lambda: [m["path"] for m in
                                   api.verify_repo_checksums(**repo, revision="v1").mismatches])
report("tag", lambda: api.create_tag(**repo, tag="1.0", revision="v1"))
report("tag again", lambda: api.create_tag(**repo, tag="1.0", revision="v1"))
report("tags", lambda: {t.name: [t.ref, t.target_commit] for t in api.list_repo_refs(**repo).tags})
report("by tag", lambda: api.list_repo_files(**repo, revision="1.0"))
report("untag", lambda: [api.delete_tag(**repo, tag="1.0"), api.list_repo_refs(**repo).tags])
report("pull request", lambda: api.upload_file(**repo, path_or_fileobj=b"x", path_in_repo="x", create_pr=True))
report("move", lambda: api.move_repo("myorg/gemm", "newcomer/moved", repo_type="kernel"))
report("moved", lambda: [api.list_repo_files("newcomer/moved", repo_type="kernel", revision="v1"),
                         api.repo_exists("myorg/gemm", repo_type="kernel")])
report("move back", lambda: api.move_repo("newcomer/moved", "myorg/gemm", repo_type="kernel"))
report("move away", lambda: api.move_repo("myorg/gemm", "bob/gemm", repo_type="kernel"))
report("delete files", lambda: api.delete_folder("build/torch-cpu", **repo, revision="v2").oid)
report("after delete", lambda: api.list_repo_files(**repo, revision="v2"))
report("delete branch", lambda: api.delete_branch(**repo, branch="v2"))
report("branches left", lambda: [b.name for b in api.list_repo_refs(**repo).branches])
report("no repo", lambda: api.list_repo_refs("myorg/nothing", repo_type="kernel"))
report("no revision", lambda: api.list_repo_files(**repo, revision="v7"))
report("no file", lambda: api.hf_hub_download(**repo, filename="nothing", revision="v1"))
report("stale parent", lambda: api.upload_file(**repo, path_or_fileobj=b"x", path_in_repo="x", parent_commit="0" * 40))
stranger = HfApi(token="hf_wrong")
report("wrong token", lambda: stranger.upload_file(**repo, path_or_fileobj=b"x", path_in_repo="x"))
"""


@pytest.fixture(scope="module")
def client(hub, tmp_path_factory):
    home = tmp_path_factory.mktemp("client")
    for version in (1, 2):
        kernel = write_kernel(home / f"k{version}", version=version, answer=40 + version)
        (kernel / "weights.bin").write_bytes(bytes(range(256)) * 100)
    return Client(home, hub.endpoint, hub.token)


@pytest.fixture(scope="module")
def published(client):
    """What HfApi said while a kernel was created, uploaded in two versions, read, tampered with and cut down."""
    client.command("hf", "repos", "create", "myorg/gemm", "--type", "kernel")
    return client.script(PUBLISH)


def test_hf_creates_a_kernel_repository_and_hfapi_finds_it_there(published, hub):
    assert published["whoami"] == ["alice", ["myorg", "newcomer"]]
    assert published["create"] == f"{hub.endpoint}/kernels/myorg/gemm"


def test_upload_folder_lands_on_the_version_branch(published):
    assert published["files"] == [".gitattributes", "build/torch-cpu/__init__.py", "build/torch-cpu/metadata.json",
                                  "build/torch-cpu/weights.bin"]
    assert published["lfs"] == ["build/torch-cpu/weights.bin"]
    assert published["history"] == ["version 1", "initial commit"]
    assert published["refs"]["v1"] == published["upload 1"]
    assert published["exists"] == [False, True]


def test_an_unchanged_folder_makes_no_new_commit(published):
    assert published["upload 1 again"] == published["upload 1"]


def test_a_card_with_broken_front_matter_is_refused_before_the_upload(published):
    assert published["card"] == published["refs"]["main"]
    assert published["bad card"].startswith("ValueError: Invalid metadata in README.md")


def test_a_snapshot_holds_every_file_and_its_checksums_agree(published):
    assert published["snapshot"] == published["files"]
    assert published["verify"]["mismatches"] == []
    assert published["verify"]["checked_count"] == 4


def test_a_file_tampered_with_in_the_cache_is_found_by_its_checksum(published):
    assert published["verify tampered"] == ["build/torch-cpu/weights.bin"]


def test_folders_and_branches_can_be_deleted(published):
    assert published["after delete"] == [".gitattributes"]
    assert published["branches left"] == ["main", "v1"]


def test_a_repository_moves_with_all_that_is_in_it_where_its_owner_may_write(published):
    files, is_left_behind = published["moved"]
    assert (sorted(files), is_left_behind) == (published["files"], False)
    assert (published["move"], published["move back"]) == (None, None)
    assert "may not write to bob" in published["move away"]


def test_a_pull_request_is_refused_with_the_way_out(published):
    assert "commit to a branch" in published["pull request"]


def test_a_tag_is_a_revision_until_it_is_deleted(published):
    assert published["tags"] == {"1.0": ["refs/tags/1.0", published["upload 1"]]}
    assert sorted(published["by tag"]) == published["files"]
    assert "exists already" in published["tag again"]
    assert published["untag"] == [None, []]


@pytest.mark.parametrize(("what", "error"), [
    ("no repo", "RepositoryNotFoundError"), ("no revision", "RevisionNotFoundError"),
    ("no file", "RemoteEntryNotFoundError"), ("stale parent", "HfHubHTTPError"), ("wrong token", "HfHubHTTPError")])
def test_the_library_raises_the_error_it_has_for_this(published, what, error):
    assert published[what].startswith(error)
    if what == "wrong token":
        assert "fp8lab hub user" in published[what]
    if what == "stale parent":
        assert "somebody committed since" in published[what]


def test_hf_uploads_by_lfs_too_downloads_and_deletes_from_the_command_line(client, hub):
    client.command("hf", "repos", "create", "newcomer/other", "--type", "kernel")
    kernel = write_kernel(client.home / "by-lfs")
    (kernel / "op.so").write_bytes(bytes(range(255, -1, -1)) * 100)
    before = (hub.root / "requests.log").stat().st_size
    client.command("hf", "upload", "newcomer/other", "by-lfs", ".", "--type", "kernel", HF_HUB_DISABLE_XET="1")
    assert "PUT /lfs/" in (hub.root / "requests.log").read_text()[before:]
    done = client.command("hf", "download", "newcomer/other", "build/torch-cpu/op.so", "--type", "kernel",
                          "--local-dir", "here")
    assert (client.home / "here/build/torch-cpu/op.so").read_bytes() == (kernel / "op.so").read_bytes(), done.stderr
    client.command("hf", "repos", "delete", "newcomer/other", "--type", "kernel", "--yes")
    assert hub.call("GET", "/api/kernels/newcomer/other/refs").status == 404
