"""The pictures of lesson 07: each variant with the loader's reason, each flake with its commit and its arrows."""

import json

import pytest
from matplotlib.patches import FancyArrowPatch
from matplotlib.text import Text

from fp8lab import figures
from fp8lab.figures import palette
from fp8lab.localbuild import ROOT
from fp8lab.variants import REPOSITORIES, System, decide


def words(picture):
    return [text.get_text() for text in picture.findobj(Text) if text.get_text()]


def test_each_variant_stands_with_its_reason_and_the_loaded_one_is_marked():
    names, system = REPOSITORIES["a mixture"], System()
    picture, decisions = figures.variants(names, system), decide(names, system)
    shown = words(picture)
    assert [word for word in shown if word in names] == [decision.name for decision in decisions]
    assert shown.count("loaded") == 1 and shown.count("would fit, is not preferred") == 2
    assert all(decision.reason in shown for decision in decisions if not decision.fits)
    marked = [box.get_y() for box in picture.axes[0].patches
              if box.get_facecolor()[:3] == pytest.approx(tuple(int(palette.YELLOW[i:i + 2], 16) / 255
                                                                for i in (1, 3, 5)))]
    assert marked == [pytest.approx(0.08)]
    assert "loads torch-stable-abi210-cpu-x86_64-linux, 2 more would fit; 2 of 5 do not fit." in picture.summary


def test_machine_that_nothing_fits_is_told_so():
    picture = figures.variants(["torch-rocm"], System())
    assert "loads nothing; 1 of 1 do not fit." in picture.summary and "loaded" not in words(picture)


def test_variant_refused_for_the_gpu_is_not_called_loaded():
    picture = figures.variants(REPOSITORIES["stable ABI"], System(backend="rocm72", gpu="gfx950"))
    shown = " ".join(words(picture))
    assert "picked, then refused for this GPU" in shown and "loaded" not in words(picture)
    assert "ROCm arch gfx950 of the current device is not supported by the architectures of the build: gfx942" in shown
    assert "picks and refuses torch-stable-abi210-rocm72-x86_64-linux" in picture.summary


def test_lock_graph_has_a_box_a_node_and_an_arrow_an_input():
    lock = json.loads((ROOT / "flake.lock").read_text())
    picture = figures.lock_graph(ROOT / "flake.lock")
    inputs = [target for node in lock["nodes"].values() for target in node.get("inputs", {}).values()]
    arrows = picture.findobj(FancyArrowPatch)
    assert len(arrows) == len(inputs)
    assert sum(arrow.get_linestyle() == "--" for arrow in arrows) == sum(isinstance(each, list) for each in inputs)
    for name, node in lock["nodes"].items():
        label = next(word for word in words(picture) if word.startswith(name if name != "root" else "this repository"))
        assert name == "root" or node["locked"]["rev"][:8] in label
    assert "rust-overlay uses the nixpkgs of kernel-builder" in picture.summary


def test_borrowed_input_is_followed_through_two_flakes(tmp_path):
    def node(**inputs):
        return {"inputs": inputs, "locked": {"lastModified": 0, "owner": "o", "repo": "r", "rev": "0123456789"}}

    nodes = {"root": node(a="a1", b="b1"), "a1": node(c="c1"), "b1": node(mine=["a", "c"]), "c1": node()}
    (tmp_path / "flake.lock").write_text(json.dumps({"nodes": nodes, "root": "root", "version": 7}))
    picture = figures.lock_graph(tmp_path / "flake.lock")
    assert "b1 uses the c1 of a1" in picture.summary
    assert "names a1, b1, the others come with them" in picture.summary
