"""The pictures of lesson 06: every number in them is that of the problem or of the choice."""

import numpy as np
import pytest
import torch
from matplotlib.text import Text

from fp8lab import figures
from fp8lab.launcher import Choice, Problem


def words(picture):
    return " ".join(text.get_text() for text in picture.findobj(Text))


def test_layers_name_files_that_exist():
    from fp8lab.figures.launch import LAYERS
    from fp8lab.localbuild import ROOT

    files = [file for _, files, *_ in LAYERS for file in files.split(", ") if "/" in file]
    assert len(files) == 4 and all((ROOT / file).exists() for file in files)
    picture = figures.call_layers()
    assert all(name in picture.summary and name in words(picture) for name, *_ in LAYERS)


def test_the_launchers_argument_count_is_that_of_the_kernel():
    from fp8lab import launcher
    from fp8lab.figures.launch import LAYERS

    kernel = launcher.compile_row(launcher.table(), "gemm_64x64_kk").code_object.kernels["gemm_64x64_kk"]
    count = sum(not argument.is_hidden for argument in kernel.arguments)
    assert any(hands.startswith(f"{count} kernel arguments") for _, _, _, hands, _ in LAYERS)


def test_problem_table_shows_every_field():
    a, b = torch.zeros(24, 384), torch.zeros(130, 384).T
    problem = Problem.of(a, b, torch.zeros(3, 24), torch.zeros(3, 2), torch.zeros(24, 130))
    picture = figures.gemm_problem(problem)
    shown = words(picture)
    for field, _ in Problem._fields_:
        assert field in shown
    assert f"{problem.a:#x}" in shown and "null" in shown and "24, 130, 384" in shown
    assert "384, 1" in picture.summary and "1, 384" in picture.summary
    turned = Problem.of(a.T.contiguous().T, b.contiguous(), torch.zeros(3, 24), torch.zeros(3, 2), torch.zeros(24, 130))
    assert "M-contiguous" in words(figures.gemm_problem(turned)) and "N-contiguous" in words(
        figures.gemm_problem(turned))


@pytest.mark.parametrize(("choice", "size", "busy"), [
    (Choice("gemm_128x128_mn", 288, 3), (1024, 1536, 7168), 288), (Choice("gemm_64x64_kk", 1, 1), (1, 1, 128), 1),
    (Choice("gemm_256x128_mn", 1344, 1), (6144, 7168, 2048), 304)])
def test_map_colours_each_tile_by_its_die_and_counts_the_busy_units(choice, size, busy):
    picture = figures.workgroup_map(choice, *size, "4 bytes of workspace")
    maps = [ax.images[0].get_array() for ax in picture.axes if ax.images]
    assert len(maps) == choice.parts and sum(each.size for each in maps) == choice.workgroups
    assert np.bincount(np.concatenate([each.ravel() for each in maps]), minlength=8).tolist() == [
        len(range(xcd, choice.workgroups, 8)) for xcd in range(8)]
    assert f"{busy} of 304 compute units have work" in picture.summary
    assert choice.name in words(picture) and "4 bytes of workspace" in words(picture)


def test_pictures_fit_the_page():
    for picture in (figures.call_layers(), figures.workgroup_map(Choice("gemm_64x64_kk", 36, 4), 64, 576, 7168)):
        box, renderer = picture.bbox, picture.canvas.get_renderer()
        for text in picture.findobj(Text):
            if text.get_text() and text.get_visible():
                extent = text.get_window_extent(renderer)
                assert box.x0 - 1 <= extent.x0 and extent.x1 <= box.x1 + 1, text.get_text()
