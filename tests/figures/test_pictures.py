"""Every picture: size, words, numbers, and its sentence. Labels are compared with the formats and the cost model."""

import io
import re

import numpy as np
import pytest
import torch
from matplotlib import image
from matplotlib.text import Text

from fp8lab import figures, formats, hardware, reference, scaling
from fp8lab.figures import palette
from fp8lab.figures.experiment import DISTRIBUTIONS, PLACES, SCALES, Point, measure
from fp8lab.localbuild import ROOT
from fp8lab.variants import REPOSITORIES, System

E4M3FNUZ, E4M3FN = formats.E4M3FNUZ, formats.E4M3FN
X = Point(outliers=4, strength=1024.0, rows=128, columns=256).matrix()
SIMILARITY = np.array([[1.0, 0.8], [0.8, 1.0]])
PICTURES = {
    "byte": lambda: figures.byte(0x5B, E4M3FNUZ),
    "two_formats": lambda: figures.two_formats(0x5B, E4M3FNUZ, E4M3FN),
    "number_line": lambda: figures.number_line(0x40, E4M3FNUZ),
    "spacing": lambda: figures.spacing(E4M3FNUZ, E4M3FN, formats.E5M2FNUZ),
    "rounding": lambda: figures.rounding(1.07, E4M3FNUZ),
    "weight_histogram": lambda: figures.weight_histogram(X, scaling.quantize(X).dequantize()),
    "error_map": lambda: figures.error_map(X),
    "recipes": lambda: figures.recipes(X),
    "columns": lambda: figures.columns(X),
    "outlier_cost": lambda: figures.outlier_cost(X),
    "scale_point": lambda: figures.scale_point(Point(outliers=4)),
    "similarity": lambda: figures.similarity(SIMILARITY, SIMILARITY - 0.01, ["a cat", "a kitten"]),
    "memory_order": lambda: figures.memory_order((4, 8), (8, 1)),
    "block_grid": lambda: figures.block_grid((384, 576), (128, 128)),
    "gemm_layout": lambda: figures.gemm_layout(300, 576, 384),
    "roofline": lambda: figures.roofline((1024, 1536, 7168)),
    "variants": lambda: figures.variants(REPOSITORIES["one a torch version"], System(backend="rocm72")),
    "lock_graph": lambda: figures.lock_graph(ROOT / "flake.lock"),
}


def words(picture):
    """All text in a picture."""
    return [text.get_text() for text in picture.findobj(Text) if text.get_text()]


def pixels(picture):
    return image.imread(io.BytesIO(picture.png()))


@pytest.fixture(scope="module", params=PICTURES)
def picture(request):
    return PICTURES[request.param]()


def test_picture_fits_a_notebook_and_is_not_blank(picture):
    assert picture.get_figwidth() <= palette.WIDTH and picture.get_figheight() <= palette.HEIGHT
    drawn = pixels(picture)
    assert np.mean(np.any(drawn[..., :3] < 0.9, axis=-1)) > 0.01
    assert np.all(drawn[0, 0] == 1)                     # white paper, not transparent: readable on a dark theme


def test_text_stays_inside_the_picture(picture):
    picture.canvas.draw()
    width, height = picture.bbox.size
    for text in picture.findobj(lambda artist: isinstance(artist, Text) and artist.get_visible() and artist.get_text()):
        box = text.get_window_extent()
        if box.width and text.get_clip_on() is False:
            assert box.x0 >= -1 and box.x1 <= width + 1, text.get_text()
            assert box.y0 >= -1 and box.y1 <= height + 1, text.get_text()


def test_summary_is_a_sentence_and_the_alternative_text(picture):
    assert 30 < len(picture.summary) < 450 and picture.summary.endswith(".")
    shown = picture._repr_mimebundle_()
    assert shown["text/plain"] == picture.summary
    alt = re.search(r'<img alt="([^"]+)" src="data:image/png;base64,', shown["text/html"])
    assert alt and alt.group(1) in shown["text/html"].split("<figcaption")[1]


def test_same_data_give_the_same_bytes():
    assert PICTURES["scale_point"]().png() == PICTURES["scale_point"]().png()


def test_summary_is_escaped():
    picture = figures.error_map(X, name='<script> "x"')
    assert "<script>" not in picture.html() and "&lt;script&gt; &quot;x&quot;" in picture.html()


@pytest.mark.parametrize("fmt", formats.FORMATS.values(), ids=formats.FORMATS)
def test_byte_shows_the_bits_and_the_formula_of_every_kind_of_code(fmt):
    for code in (0x00, 0x01, 0x5B, 0x7C, 0x7F, 0x80, 0xFF):
        shown, parts = words(figures.byte(code, fmt)), formats.fields(code, fmt)
        assert [w for w in shown if w in ("0", "1")][:8] == list(f"{code:08b}")
        assert any(w.startswith(parts.formula) for w in shown)
        assert shown.count("exponent") == shown.count("mantissa") == shown.count("sign") == 1


def test_two_formats_say_the_factor():
    assert figures.two_formats(0x5B, E4M3FNUZ, E4M3FN).summary.endswith("e4m3fn reads 2 times what e4m3fnuz reads.")
    assert "times" not in figures.two_formats(0x80, E4M3FNUZ, E4M3FN).summary       # NaN and -0


def test_number_line_marks_the_two_neighbours():
    picture = figures.number_line(0x40, E4M3FNUZ, reach=2)
    assert [w for w in words(picture) if "\n" in w] == ["0.875\n0x3e", "0.9375\n0x3f", "1\n0x40", "1.125\n0x41",
                                                        "1.25\n0x42"]
    assert "0x3f = 0.9375 below and 0x41 = 1.125 above" in picture.summary
    assert "nothing above" in figures.number_line(0x7F, E4M3FNUZ).summary
    assert "no neighbours" in figures.number_line(0x80, E4M3FNUZ).summary


@pytest.mark.parametrize("fmt", formats.FORMATS.values(), ids=formats.FORMATS)
def test_number_line_of_every_code(fmt):
    for code in range(0, 256, 51):
        assert f"0x{code:02x}" in figures.number_line(code, fmt).summary


def test_spacing_has_one_stair_a_format_with_the_real_steps():
    line = figures.spacing(E4M3FNUZ).axes[0].lines[0]
    values, steps = line.get_xdata(), line.get_ydata()
    assert (values[0], values[-1], len(values)) == (2.0**-10, 240.0, 127)
    assert steps[0] == 2.0**-10 and steps[-2] == 16.0


@pytest.mark.parametrize("x", [0.0, -0.0, 1.07, 17.0, -0.0001, 241.0, -247.9, 1e-30, 464.0])
@pytest.mark.parametrize("fmt", formats.FORMATS.values(), ids=formats.FORMATS)
def test_rounding_lands_where_encode_does(x, fmt):
    picture, code = figures.rounding(x, fmt), int(formats.encode(x, fmt))
    assert f"0x{code:02x}" in picture.summary


def test_rounding_says_what_overflow_does():
    assert "past the largest number of e4m3fnuz, 240: the code is 0x80" in figures.rounding(248, E4M3FNUZ).summary
    assert "overflow from 248" in words(figures.rounding(247, E4M3FNUZ))
    assert "overflow past 464" in words(figures.rounding(463, E4M3FN))
    assert "overflow from -248" in words(figures.rounding(-247, E4M3FNUZ))
    assert "NaN stays NaN" in figures.rounding(float("nan"), E4M3FN).summary
    assert "-0 becomes 0x00: e4m3fnuz has one zero" in figures.rounding(-0.0, E4M3FNUZ).summary
    assert "code 0x80, no error" in figures.rounding(-0.0, E4M3FN).summary


def test_weight_histogram_counts_values_and_losses():
    after = torch.tensor([[1.0, 1.0], [2.0, float("nan")]])
    summary = figures.weight_histogram(torch.tensor([[1.0, 1.1], [2.0, 3.0]]), after, name="w").summary
    assert "4 different values in float32 and 2 after FP8 and 1 elements are no longer finite" in summary


def test_measure_counts_what_happened():
    x = np.array([[1000.0, 244.0, 0.0, 1e-6], [1.0, 2.0, 3.0, 4.0]], np.float32)
    got = measure(x, (None, None), E4M3FNUZ, scale="none")
    assert (got.nan_codes, got.saturated, got.flushed, got.scale_bytes, got.code_bytes) == (1, 1, 1, 0, 8)
    assert np.isnan(got.relative_error[0, 0]) and got.relative_error[0, 2] == 0 and got.relative_error[0, 3] == 1
    kept = measure(x, (None, None), E4M3FNUZ, scale="none", overflow="saturate")
    assert (kept.nan_codes, kept.saturated, kept.max_error) == (0, 2, 760.0)


@pytest.mark.parametrize("scale", ["float32", "power-of-two"])
@pytest.mark.parametrize("recipe", scaling.RECIPES)
def test_measure_agrees_with_the_report(recipe, scale):
    got = measure(X, scaling.RECIPES[recipe], E4M3FNUZ, scale)
    q = scaling.quantize(X, E4M3FNUZ, scaling.RECIPES[recipe], scale)
    report = reference.compare(q.dequantize(), X)
    assert got.snr_db == pytest.approx(report.snr_db, abs=1e-3) and got.max_error == pytest.approx(report.max_abs)
    assert got.scale_bytes == q.scale_bytes


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_point_makes_the_same_matrix_again(distribution, place):
    point = Point(distribution, rows=40, columns=70, outliers=3, strength=1024.0, place=place, seed=5)
    x = point.matrix()
    assert x.shape == (40, 70) and x.dtype == np.float32 and np.array_equal(x, point.matrix())
    calm = Point(distribution, rows=40, columns=70, seed=5).matrix()
    assert np.count_nonzero(x != calm) == (3 if place == "elements" else 3 * 40)


@pytest.mark.parametrize("point", [Point(), Point("log-normal", outliers=8, strength=1024.0, scale="none", seed=3),
                                   Point(rows=300, columns=576, recipe="128×128", fmt="e5m2", scale=SCALES[1])])
def test_point_copied_as_a_test_passes_and_another_point_fails(point):
    text = point.as_test()
    assert max(map(len, text.splitlines())) <= 200 and text.count("assert") == 4

    def run(text):
        namespace = {}
        exec(text, namespace)
        next(value for name, value in namespace.items() if name.startswith("test_"))()

    run(text)
    with pytest.raises(AssertionError):
        run(text.replace("Point(", f"Point(place='columns', outliers={point.outliers + 7}, ", 1) if not point.outliers
            else text.replace("seed=3", "seed=4"))


def test_error_map_draws_the_blocks_and_their_errors():
    picture = figures.error_map(X, block=(128, 128))
    ax = picture.axes[0]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("column (element)", "row (element)")
    assert [segment[0][0] for lines in ax.collections for segment in lines.get_segments()] == [128.0]   # 128 x 256
    cells = ax.images[0].get_array()
    assert cells.shape == (64, 128) and not cells.mask.any()
    got = measure(X, (128, 128), E4M3FNUZ)
    assert cells[0, 0] == pytest.approx(np.log10(np.clip(got.relative_error[:2, :2].mean(), 0.01, 1)), abs=1e-5)


def test_error_map_marks_nan_codes():
    ax = figures.error_map(X, scale="none").axes[0]
    assert ax.images[0].get_array().mask.any()
    assert not any(lines.get_segments() for lines in ax.collections)        # without scales there are no blocks
    assert "no scale" in ax.get_title(loc="left")


def test_recipes_bars_are_the_measured_snr():
    ax = figures.recipes(X, name="w").axes[0]
    wanted = [measure(X, block, E4M3FNUZ).snr_db for block in scaling.RECIPES.values()]
    assert [bar.get_width() for bar in ax.patches] == pytest.approx(wanted)
    assert [label.get_text() for label in ax.get_yticklabels()] == list(scaling.RECIPES)
    assert ax.get_xlabel() == "signal to noise (dB)"


def test_similarity_writes_the_values_and_the_change():
    picture = figures.similarity(SIMILARITY, SIMILARITY - 0.03, ["a cat", "a kitten"])
    assert words(picture).count("0.80") == 2 and words(picture).count("0.77") == 2
    assert "largest change is 0.0300, and every sentence keeps its nearest neighbour" in picture.summary


def test_memory_order_numbers_the_cells_and_hatches_the_padding():
    tensor = torch.zeros(4, 8).T[:6]                       # (6, 4), strides (1, 8): K-contiguous, pitch 8
    picture = figures.memory_order(tuple(tensor.shape), tensor.stride(), "b[k, n]")
    assert [w for w in words(picture) if w.isdigit()][:4] == ["0", "8", "16", "24"]
    assert "b[k, n] is K-contiguous: a step in n moves 8 in memory, a step in k moves 1" in picture.summary
    assert "6 elements of padding" in picture.summary
    assert sum(patch.get_hatch() is not None for patch in picture.axes[1].patches) == 6
    assert "M-contiguous" in figures.memory_order((4, 8), (1, 4)).summary
    with pytest.raises(ValueError, match="draw a corner"):
        figures.memory_order((4, 100), (100, 1))


def test_block_grid_hatches_the_tail():
    picture = figures.block_grid((384, 576), (128, 128))
    assert "3 x 5 = 15 blocks of 128 x 128, 3 of them cut by the edge" in picture.summary
    cut = [patch for patch in picture.axes[0].patches if patch.get_hatch()]
    assert [patch.get_width() for patch in cut] == [64.0] * 3
    assert "[2, 4]" in words(picture)


@pytest.mark.parametrize(("m", "n", "k"), [(1, 1, 128), (1024, 1536, 7168), (300, 576, 384), (32768, 32768, 32768)])
def test_gemm_layout_labels_are_the_contract(m, n, k):
    shown = words(figures.gemm_layout(m, n, k, "M-contiguous", "N-contiguous"))
    blocks = k // 128, -(-n // 128)
    for label in (f"a ({m}, {k})", f"b ({k}, {n})", f"C ({m}, {n}) bfloat16", f"a_scale ({blocks[0]}, {m}) float32",
                  f"b_scale ({blocks[0]}, {blocks[1]}) float32"):
        assert label in shown
    assert any("a M-contiguous, b N-contiguous" in w for w in shown)
    assert any(f"last column of blocks: {n % 128} of 128" in w for w in shown) == bool(n % 128)


def test_gemm_layout_names_the_scales_of_an_element():
    summary = figures.gemm_layout(300, 576, 384, row=10, col=570).summary
    assert "column 10 of a_scale and column 4 of b_scale, 3 scales of each" in summary


@pytest.mark.parametrize(("arguments", "message"), [
    ((64, 64, 100), "K is 100, needs a multiple of 128"), ((0, 64, 128), "nothing to draw"),
    ((64, 64, 128, "row-major"), "a_layout is 'row-major'"),
    ((64, 64, 128, "K-contiguous", "M-contiguous"), "b_layout is 'M-contiguous'"),
])
def test_gemm_layout_refuses_what_the_op_refuses(arguments, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        figures.gemm_layout(*arguments)
    with pytest.raises(ValueError, match="outside C"):
        figures.gemm_layout(64, 64, 128, col=64)


def test_roofline_puts_every_shape_on_the_roof():
    shapes = {"small": (16, 1536, 384), "large": (4096, 7168, 16384)}
    picture = figures.roofline(shapes)
    ax = picture.axes[0]
    for name, shape in shapes.items():
        place = hardware.roofline(*shape)
        line = next(line for line in ax.lines if str(line.get_label()).startswith(name))
        assert (line.get_xdata()[0], line.get_ydata()[0]) == (place.intensity, place.attainable / 1e12)
        assert f"{place.bound} bound" in line.get_label()
    assert len(ax.lines[2].get_xdata()) == len(hardware.CONTEST_SHAPES)
    assert "FLOP/s" in ax.get_ylabel() and "per byte" in ax.get_xlabel()
    assert "FP8 peak: 2,615 TFLOP/s" in words(picture)


@pytest.mark.parametrize("shape", [(1, 1, 128), (1, 32768, 32768), (32768, 32768, 32768)])
def test_roofline_axes_hold_every_shape(shape):
    place = hardware.roofline(*shape)
    picture = figures.roofline(shape, others=())
    (left, right), (low, high) = picture.axes[0].get_xlim(), picture.axes[0].get_ylim()
    assert left <= place.intensity <= right and low <= place.attainable / 1e12 <= high
