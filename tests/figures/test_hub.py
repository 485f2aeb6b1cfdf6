"""The picture of a kernel repository: what is written is what the repository holds."""

import io

import numpy as np
from matplotlib import image
from matplotlib.text import Text

from fp8lab import figures
from fp8lab.figures import palette
from fp8lab.hub.requests import Request

BRANCHES = {"main": {"README.md": 1062}, "v1": {".gitattributes": 42, "benchmarks/benchmark.py": 1615, **{
    f"build/{variant}/{file}": 1000 + size for variant in ("torch-cpu", "torch213-cxx11-rocm72-x86_64-linux")
    for size, file in enumerate(("__init__.py", "_ops.py", "metadata.json"))}}}
PATH = "/kernels/myorg/gemm/resolve/0123456789012345678901234567890123456789/build/torch-cpu/{}"
REQUESTS = [Request("GET", "/api/agent-harnesses", 404), Request("GET", "/api/kernels/myorg/gemm/refs", 200),
            *(Request("GET", PATH.format(f"a_file_of_some_length_{number}.py"), 200) for number in range(12))]
PICTURES = [figures.hub_tree(BRANCHES, "myorg/gemm"), figures.hub_tree(BRANCHES | {"v2": BRANCHES["v1"]}, "two"),
            figures.hub_tree({f"v{n}": BRANCHES["v1"] for n in range(1, 5)}, "four"),
            figures.hub_requests(REQUESTS, "returns", "a call"),
            figures.hub_requests([], "no " * 300, "refused", False)]


def test_pictures_fit_a_notebook_and_are_not_blank():
    for picture in PICTURES:
        assert picture.get_figwidth() <= palette.WIDTH and picture.get_figheight() <= palette.HEIGHT
        drawn = image.imread(io.BytesIO(picture.png()))
        assert np.mean(np.any(drawn[..., :3] < 0.9, axis=-1)) > 0.01


def test_text_stays_inside_and_does_not_run_into_the_next_column():
    for picture in PICTURES:
        picture.canvas.draw()
        width, height = picture.bbox.size
        boxes = [text.get_window_extent() for text in picture.axes[0].texts]
        assert all(box.x0 >= -1 and box.x1 <= width + 1 and box.y0 >= -1 and box.y1 <= height + 1 for box in boxes)
        for index, box in enumerate(boxes):
            assert not any(box.shrunk(0.98, 0.6).overlaps(other.shrunk(0.98, 0.6)) for other in boxes[index + 1:])


def test_tree_names_every_branch_folder_and_file_with_its_size():
    texts = [text.get_text() for text in PICTURES[0].findobj(Text)]
    assert {"main", "v1", "benchmarks/", "build/torch-cpu/", "build/torch213-cxx11-rocm72-x86_64-linux/"} <= set(texts)
    assert texts.count("metadata.json") == 2 and texts.count("1,002 bytes") == 2 and "1,062 bytes" in texts
    assert PICTURES[0].summary == ("myorg/gemm: branches main with 1 file, v1 with 8 files; build variants: "
                                   "torch-cpu, torch213-cxx11-rocm72-x86_64-linux.")


def test_tree_of_many_files_counts_them_by_folder():
    texts = [text.get_text() for text in PICTURES[2].findobj(Text)]
    assert texts.count("3 files") == 8 and texts.count("3,003 bytes") == 8 and "metadata.json" not in texts
    assert texts.count("build/torch-cpu/") == 4 and {"v1", "v4"} <= set(texts)


def test_long_messages_are_cut_and_say_so():
    texts = [text.get_text() for text in PICTURES[4].findobj(Text)]
    assert "…" in texts and "no request: refused before the Hub is asked" in texts
    assert len(PICTURES[4].summary) < 450
