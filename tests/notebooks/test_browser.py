"""The lessons as a learner meets them: JupyterLab in a real browser, every cell run, every control moved."""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import TimeoutError, sync_playwright

from fp8lab import course
from fp8lab.doctor import find_chromium

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not find_chromium(), reason="no Chromium on PATH; on Debian and Ubuntu: apt install chromium"),
]
LESSONS = course.lessons()
PICTURES = Path(os.environ.get("FP8LAB_PICTURES", course.ROOT / "build" / "pictures"))
# No sandbox, as CI runs as root; no background traffic, as the machine may have no network.
CHROMIUM = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
            "--disable-sync", "--no-first-run"]
RUN_SECONDS = 300
POLL = 100          # ms; without it Playwright looks at every frame, which takes a tenth of the processor time
CONTROLS = ("input[type=number], input[type=text], input[type=checkbox], select, .widget-toggle-buttons,"
            " .widget-toggle-button:not(.widget-toggle-buttons *)")
SHOWN = "explorer => [...explorer.querySelectorAll('figure, [role=status]')].map(node => node.outerHTML).join()"


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """URL of a JupyterLab on a copy of the lessons, as it saves what it opens; settings and history of its own."""
    home = tmp_path_factory.mktemp("home")
    shutil.copytree(course.NOTEBOOKS, home / "course" / "notebooks")
    (home / "course" / "build").symlink_to(course.ROOT / "build")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {**os.environ, "JUPYTER_CONFIG_DIR": str(home), "JUPYTER_DATA_DIR": str(home / "data"),
                   "JUPYTERLAB_SETTINGS_DIR": str(home / "settings"), "JUPYTERLAB_WORKSPACES_DIR": str(home / "w")}
    no_questions = home / "settings" / "@jupyterlab" / "apputils-extension" / "notification.jupyterlab-settings"
    no_questions.parent.mkdir(parents=True)
    no_questions.write_text('{"fetchNews": "false", "checkForUpdates": false}')
    log = (home / "lab.log").open("w")
    server = subprocess.Popen(
        [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--port={port}",
         "--LanguageServerManager.autodetect=False", "--IdentityProvider.token=", "--LabApp.expose_app_in_browser=True",
         f"--ServerApp.root_dir={home / 'course'}"], env=environment, stdout=log, stderr=subprocess.STDOUT)
    url = f"http://127.0.0.1:{port}"
    for _ in range(300):
        try:
            urllib.request.urlopen(f"{url}/api", timeout=1)
            break
        except OSError:
            assert server.poll() is None, (home / "lab.log").read_text()
            time.sleep(0.1)
    yield url
    server.terminate()
    server.wait(60)


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=find_chromium(), args=CHROMIUM)
        yield chromium
        chromium.close()


@pytest.fixture(params=LESSONS, ids=[path.stem for path in LESSONS], scope="module")
def lesson(request, lab, browser):
    """One lesson, opened and run to its end; `page.complaints` holds what the browser's console called an error."""
    page = browser.new_page(viewport={"width": 1280, "height": 1500})
    page.complaints = []
    page.on("console", lambda message: page.complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    path = request.param
    page.goto(f"{lab}/doc/tree/notebooks/{path.name}")
    page.wait_for_function("window.jupyterapp && window.jupyterapp.shell.currentWidget?.context?.isReady")
    # Render every cell, also those below the window: a control that is not drawn cannot be looked at.
    page.evaluate("window.jupyterapp.shell.currentWidget.content.notebookConfig ="
                  " {...window.jupyterapp.shell.currentWidget.content.notebookConfig, windowingMode: 'none'}")
    page.wait_for_function("window.jupyterapp.shell.currentWidget.sessionContext.session?.kernel?.status === 'idle'",
                           timeout=RUN_SECONDS * 1000, polling=POLL)
    page.evaluate("window.jupyterapp.commands.execute('notebook:run-all-cells')")
    last = len([cell for cell in course.code_cells(nbformat.read(path, 4)) if cell.source.strip()])
    page.wait_for_function(
        "last => [...window.jupyterapp.shell.currentWidget.model.cells].filter(cell => cell.type === 'code'"
        " && cell.sharedModel.source.trim() && cell.executionCount).length === last",
        arg=last, timeout=RUN_SECONDS * 1000, polling=POLL)
    page.path = path
    yield page
    page.close()


def test_every_cell_runs_without_an_error_in_the_page(lesson):
    text = lesson.inner_text(".jp-Notebook")
    assert "model not found" not in text.lower()
    # A traceback is shown as stderr too: one is right for each cell that is meant to raise, anything more is not.
    cells = course.code_cells(nbformat.read(lesson.path, 4))
    meant = [cell for cell in cells if "raises-exception" in course.tags(cell)]
    said = lesson.locator("[data-mime-type='application/vnd.jupyter.stderr']").all_inner_texts()
    assert len(said) == len(meant), said
    assert lesson.complaints == []


def test_every_picture_is_drawn_and_carries_a_text(lesson):
    pictures = lesson.locator(".jp-OutputArea img")
    assert pictures.count() > 0
    if lesson.path == LESSONS[0]:
        photograph(pictures.first, "00_first_picture.png")
    for index in range(pictures.count()):
        assert pictures.nth(index).evaluate("image => image.complete && image.naturalWidth > 100")
    for alt in lesson.locator(".fp8lab-explorer img").evaluate_all("images => images.map(image => image.alt)"):
        assert len(alt) > 20


def test_every_control_moves_three_times_and_its_picture_follows(lesson):
    explorers = lesson.locator(".fp8lab-explorer")
    assert explorers.count() > 0
    for index in range(explorers.count()):
        explorer = explorers.nth(index)
        explorer.scroll_into_view_if_needed()
        photograph(explorer, f"{lesson.path.stem[:2]}_explorer_{index + 1}.png")
        controls = explorer.locator(CONTROLS)
        assert controls.count() > 0
        for number in range(controls.count()):
            control = controls.nth(number)
            if control.is_visible() and control.is_enabled():
                move_three_times(lesson, explorer, control)
    assert lesson.complaints == []


def move_three_times(page, explorer, control):
    """Move one control as a person would; each time what the explorer shows has to change."""
    label = control.evaluate("node => node.closest('.jupyter-widgets')?.innerText || node.title")
    for turn in range(3):
        before = explorer.evaluate(SHOWN)
        move(control, turn)
        try:
            page.wait_for_function(f"([explorer, before]) => ({SHOWN})(explorer) !== before",
                                   arg=[explorer.element_handle(), before], timeout=10_000, polling=POLL)
        except TimeoutError:
            pytest.fail(f"{label!r} was moved (turn {turn + 1}), and the picture stayed as it was")


def move(control, turn):
    kind = control.evaluate("node => node.tagName + ':' + (node.type || '')")
    if kind.startswith("SELECT"):
        count, now = control.evaluate("node => [node.options.length, node.selectedIndex]")
        control.select_option(index=(now + 1) % count)
    elif kind in ("INPUT:number", "INPUT:text"):
        control.fill(str(stepped(control.input_value(), turn)))
        control.press("Enter")
        control.blur()
    elif "widget-toggle-buttons" in (control.get_attribute("class") or ""):
        buttons = control.locator("button")
        active = buttons.evaluate_all("buttons => buttons.findIndex(button => button.className.includes('mod-active'))")
        buttons.nth((active + 1) % buttons.count()).click()
    else:
        control.click()


def stepped(value, turn):
    """Another number near the one shown, as a learner would type it; whole numbers move by their own step."""
    try:
        number = float(value)
    except ValueError:
        return ("1.5", "240", "0.1")[turn]
    return int(number) + 1 if number == int(number) and "." not in value else round(number * 1.5 + 0.1, 3)


def photograph(element, name):
    PICTURES.mkdir(parents=True, exist_ok=True)
    element.screenshot(path=PICTURES / name)
