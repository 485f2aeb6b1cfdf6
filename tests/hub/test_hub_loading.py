"""`kernels` as installed, loading from the Hub, from folders and from its cache: what works, what the errors say."""

import shutil

import pytest
from hub_clients import Client, write_kernel

ONLINE = """
import contextlib, io
from kernels import (Mode, LayerRepository, get_kernel, get_local_kernel, get_locked_kernel, has_kernel, kernelize,
                     use_kernel_forward_from_hub, use_kernel_mapping)
from kernels.cli import main
import torch

def cli(*words):
    sys.argv = ["kernels", *words]
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.suppress(SystemExit):
        main()
    return out.getvalue()

report("by version", lambda: [get_kernel("myorg/loading", version=v).answer() for v in (1, 2)])
report("by commit", lambda: get_kernel("myorg/loading", revision=os.environ["FIRST"]).answer())
report("by branch", lambda: get_kernel("myorg/loading", revision="v2").answer())
report("neither", lambda: get_kernel("myorg/loading"))
report("both", lambda: get_kernel("myorg/loading", version=1, revision="v1"))
report("unknown version", lambda: get_kernel("myorg/loading", version=3))
report("no repository", lambda: get_kernel("myorg/nothing", version=1))
report("untrusted", lambda: get_kernel("newcomer/loading", version=1).answer())
report("trusted by hand", lambda: get_kernel("newcomer/loading", version=1, trust_remote_code=True).answer())
allowed = ["newcomer/loading"]
report("trusted by list", lambda: get_kernel("newcomer/loading", version=1, trust_remote_code=allowed).answer())
report("wrong variant", lambda: get_kernel("myorg/other-machines", version=1))
report("has", lambda: [has_kernel("myorg/loading", version=1), has_kernel("myorg/other-machines", version=1)])

report("versions", lambda: cli("versions", "myorg/loading"))
report("info", lambda: json.loads(cli("info", "myorg/loading", "--version", "1", "--json")))
report("lock", lambda: cli("lock", "project"))
report("locked", lambda: json.loads(Path("project/kernels.lock").read_text()))
report("download", lambda: cli("download", "project"))
lockfile = Path("project/kernels.lock")
report("by lock", lambda: get_locked_kernel("myorg/loading", lockfile=lockfile).answer())
report("not locked", lambda: get_locked_kernel("newcomer/loading", lockfile=lockfile))

report("signature", lambda: cli("verify-signature", "myorg/loading", "1"))

from huggingface_hub import HfApi
tampered = dict(repo_id="myorg/tampered", repo_type="kernel", revision="v1", cache_dir=os.environ["KERNELS_CACHE"])
source = Path(HfApi().snapshot_download(**tampered), "build/torch-cpu/__init__.py").resolve()
source.write_text(source.read_text().replace("45", "66"))
report("tampered", lambda: get_kernel("myorg/tampered", version=1).answer())
report("mismatches", lambda: [m["path"] for m in HfApi().verify_repo_checksums(**tampered).mismatches])

report("before travelling", lambda: get_kernel("myorg/travelling", version=1).answer())
report("local", lambda: [get_local_kernel(Path(p)).answer() for p in ("local", "local/build", "local/build/torch-cpu")])
report("local as text", lambda: get_local_kernel("local"))
report("local elsewhere", lambda: get_local_kernel(Path("elsewhere")))
os.environ["LOCAL_KERNELS"] = "myorg/loading=local:newcomer/loading=local/build"
report("override", lambda: [get_kernel(k, version=99).answer() for k in ("myorg/loading", "newcomer/loading")])
os.environ["LOCAL_KERNELS"] = "local"
report("bad override", lambda: get_kernel("myorg/loading", version=1))
del os.environ["LOCAL_KERNELS"]

@use_kernel_forward_from_hub("Answer")
class Answer(torch.nn.Module):
    def forward(self, x):
        return x

mapping = {"Answer": {"cpu": LayerRepository("myorg/loading", layer_name="Answer", version=2)}}
def kernelized():
    model = torch.nn.Sequential(Answer())
    with use_kernel_mapping(mapping):
        model = kernelize(model, mode=Mode.INFERENCE, device="cpu", use_fallback=False)
    return model(torch.zeros(2)).tolist()
report("kernelize", kernelized)
"""

OFFLINE = """
from kernels import get_kernel, get_local_kernel, load_kernel
report("by version", lambda: get_kernel("myorg/travelling", version=1).answer())
report("by commit", lambda: get_kernel("myorg/travelling", revision=os.environ["TRAVELLING"]).answer())
report("by lock", lambda: load_kernel("myorg/travelling", lockfile=Path("project/kernels.lock")).answer())
report("snapshot", lambda: get_local_kernel(Path(os.environ["SNAPSHOT"])).answer())
os.environ["LOCAL_KERNELS"] = f"myorg/travelling={os.environ['SNAPSHOT']}"
report("override", lambda: get_kernel("myorg/travelling", version=1).answer())
"""

LAYERS = """import torch


class Answer(torch.nn.Module):
    def forward(self, x):
        return x + 42
"""


@pytest.fixture(scope="module")
def client(hub, tmp_path_factory):
    """Kernels of two versions on the Hub: v1 answers 41 and v2 42, each for CPUs and for ROCm; and a local one, 43."""
    home = tmp_path_factory.mktemp("loading")
    for version in (1, 2):
        for variant in ("torch-cpu", "torch-rocm"):
            kernel = write_kernel(home / f"k{version}", variant, version, 40 + version, uid=f"000000{version}")
            (kernel / "layers.py").write_text(LAYERS)
            with open(kernel / "__init__.py", "a") as file:
                file.write("\n\nfrom . import layers\n")
    write_kernel(home / "local", answer=43, uid="1oca1")
    for variant in ("torch213-cxx11-rocm72-x86_64-linux", "torch-rocm", "torch209-cxx11-cpu-x86_64-linux"):
        write_kernel(home / "elsewhere", variant, uid=variant[5:8])
    (home / "project").mkdir()
    dependencies = '"myorg/loading" = 1\n"myorg/travelling" = 1\n'
    (home / "project/pyproject.toml").write_text("[tool.kernels.dependencies]\n" + dependencies)

    hub.create("myorg/loading")
    hub.call("POST", "/api/kernels/myorg/loading/branch/v2", {}, hub.token)
    first = hub.publish("myorg/loading", home / "k1")
    hub.publish("myorg/loading", home / "k2", "v2")
    hub.create("newcomer/loading")
    hub.publish("newcomer/loading", home / "k2")
    hub.create("myorg/other-machines")
    hub.publish("myorg/other-machines", home / "elsewhere")
    for variant in ("torch-cpu", "torch-rocm"):
        write_kernel(home / "travelling", variant, answer=44, uid="trave11")
    write_kernel(home / "tampered", answer=45, uid="tampere")
    hub.create("myorg/tampered")
    hub.publish("myorg/tampered", home / "tampered")
    hub.create("myorg/travelling")
    travelling = hub.publish("myorg/travelling", home / "travelling")
    client = Client(home, hub.endpoint)
    snapshot = home / "kernels/kernels--myorg--travelling/snapshots" / travelling
    client.environment |= {"FIRST": first, "TRAVELLING": travelling, "SNAPSHOT": str(snapshot)}
    return client


@pytest.fixture(scope="module")
def online(client):
    return client.script(ONLINE)


@pytest.fixture(scope="module")
def offline(client, online):
    """The same cache in a later process, without the Hub."""
    assert online["before travelling"] == 44
    return client.script(OFFLINE, HF_HUB_OFFLINE="1")


@pytest.fixture(scope="module")
def mended(client, offline):
    """The same again after two changes to the cache: no list of the whole tree, and a note of what v1 is."""
    cache = client.home / "kernels/kernels--myorg--travelling"
    shutil.rmtree(cache / "trees")
    (cache / "refs").mkdir()
    (cache / "refs/v1").write_text(client.environment["TRAVELLING"])
    return client.script(OFFLINE, HF_HUB_OFFLINE="1")


def test_a_kernel_is_loaded_by_version_branch_or_commit(online):
    assert (online["by version"], online["by commit"], online["by branch"]) == ([41, 42], 41, 42)


def test_a_newer_version_is_pointed_out(online):
    assert "You are using version 1 of 'myorg/loading', but version 2 is available." in online["said"]


@pytest.mark.parametrize(("what", "message"), [
    ("neither", "ValueError: A kernel version or revision must be specified."),
    ("both", "ValueError: Only one of `revision` or `version` must be specified."),
    ("unknown version", "ValueError: Version 3 not found, available versions: 1, 2"),
    ("no repository", "RepositoryNotFoundError: 404"),
    ("untrusted", "ValueError: Kernel repository 'newcomer/loading' is not from a trusted publisher."),
    ("wrong variant", "FileNotFoundError: Cannot find a build variant for this system in myorg/other-machines"),
    ("local elsewhere", "FileNotFoundError: Cannot find a build variant for this system in elsewhere"),
    ("local as text", "TypeError: unsupported operand type(s) for /: 'str' and 'str'"),
    ("bad override", "ValueError: Invalid LOCAL_KERNELS entry: local."),
    ("not locked", "ValueError: Kernel `newcomer/loading` is not locked."),
])
def test_the_message_a_learner_reads(online, what, message):
    assert online[what].startswith(message)


def test_a_wrong_variant_is_explained_one_by_one(online):
    assert "backend (rocm72) does not match" in online["wrong variant"]
    assert "Torch version (2.9) does not match" in online["wrong variant"]
    assert online["has"] == [True, False]


def test_an_untrusted_publisher_is_loaded_when_the_caller_says_so(online):
    assert (online["trusted by hand"], online["trusted by list"]) == (42, 42)


def test_kernels_lists_describes_locks_and_downloads(online, client):
    assert "Version 1:" in online["versions"] and "Version 2:" in online["versions"]
    assert "torch-cpu compatible, preferred" in online["versions"]
    assert (online["info"]["name"], online["info"]["backends"]) == ("gemm", ["cpu", "rocm"])
    locked = {lock["dependency"]["repo-id"]: lock["lock"]["commit"] for lock in online["locked"]}
    commits = client.environment
    assert locked == {"myorg/loading": commits["FIRST"], "myorg/travelling": commits["TRAVELLING"]}
    assert online["by lock"] == 41


def test_an_unsigned_kernel_is_said_to_be_unsigned(online):
    assert "torch-cpu: cannot verify kernel integrity, signature not found" in online["signature"]


def test_a_folder_is_loaded_without_the_hub(online):
    assert online["local"] == [43, 43, 43]
    assert online["override"] == [43, 43]


def test_kernelize_puts_the_hubs_layer_in_place(online):
    assert online["kernelize"] == [42.0, 42.0]


def test_offline_after_online_finds_nothing_by_version_commit_or_lock(offline):
    """The trap: `version=` downloads by commit, so the cache knows no v1, and one variant is no whole snapshot."""
    assert offline["by version"].startswith(
        "ValueError: Version 1 of 'myorg/travelling' is not available in the local cache")
    for how in ("by commit", "by lock"):
        assert offline[how].startswith("FileNotFoundError: Cannot find a local snapshot for myorg/travelling")


def test_offline_the_snapshot_folder_and_local_kernels_work(offline):
    assert (offline["snapshot"], offline["override"]) == (44, 44)


def test_offline_works_by_version_commit_and_lock_once_the_cache_is_mended(mended):
    assert (mended["by version"], mended["by commit"], mended["by lock"]) == (44, 44, 44)


def test_a_tampered_cache_loads_all_the_same_but_its_checksum_tells(online):
    assert (online["tampered"], online["mismatches"]) == (66, ["build/torch-cpu/__init__.py"])


def test_the_telemetry_variable_shows_up_as_a_lack_of_trust(client):
    """The trap of kernels 0.17.2 with huggingface_hub 2.4.0: an illegal user-agent header, reported as distrust."""
    load = "from kernels import get_kernel\nreport('load', lambda: get_kernel('myorg/loading', version=1))"
    said = client.script(load, HF_HUB_DISABLE_TELEMETRY="1")
    assert "could not verify publisher trust status" in said["load"]
