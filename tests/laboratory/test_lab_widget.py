"""`scenario.lab()`: the widget's two ends, and the page in a notebook's cell without a notebook's server."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

import forebay
from forebay.errors import InputError, MissingPackageError, UnsupportedError
from forebay.laboratory.page import laboratory_page, widget_code
from forebay.scenario import Scenario
from tests.support.browsers import lacking
from tests.support.laboratory_page import QUICK, until
from tests.support.scenarios import SMALL

#: The policy of VS Code for the output of a cell: `notebook.experimental.enableCsp` in backLayerWebView.ts.
VS_CODE = (
    "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; "
    "img-src https: http: data:; font-src https:; connect-src https:; child-src https: data:;"
)


@pytest.fixture(scope="module")
def code() -> str:
    """The widget's module; the page must be built."""
    try:
        return widget_code()
    except UnsupportedError as error:
        lacking(str(error))


# In Python -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def widget(code: str) -> Any:
    pytest.importorskip("anywidget")
    assert code
    return Scenario.parse(QUICK).lab()


def test_text_and_scenario_of_a_widget_are_one(widget: Any) -> None:
    assert widget.text == QUICK
    widget.text = QUICK.replace('"20p"', '"30p"')
    assert widget.scenario.buffer.packets == 30
    widget.scenario = widget.scenario.changed("link.buffer=40p")
    assert widget.text == QUICK.replace('"20p"', '"40p"')
    seen: list[Scenario] = []
    widget.observe(lambda change: seen.append(change["new"]), "scenario")
    # As the page's word comes: through the comm.
    widget.set_state({"text": QUICK})
    assert [each.buffer.packets for each in seen] == [20]


def test_a_widget_takes_no_text_that_is_no_scenario(widget: Any) -> None:
    for text in ("", QUICK.replace('"10Mbps"', '"fast"'), '[link]\nrate = { file = "/etc/passwd" }\n'):
        with pytest.raises(InputError):
            widget.text = text
        assert widget.text == QUICK
        assert widget.scenario.toml == QUICK


def test_a_notebook_keeps_a_table_beside_the_widget(widget: Any) -> None:
    data, _ = widget._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in data
    assert "Two flows" in data["text/html"]
    assert len(json.dumps(data)) < 4000


def test_without_anywidget_it_is_said_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "anywidget", None)
    with pytest.raises(MissingPackageError, match=r"forebay\[notebook\]"):
        Scenario.parse(SMALL).lab()


def test_the_package_loads_no_anywidget() -> None:
    package = Path(forebay.__file__).parent
    importing = [path.name for path in package.rglob("*.py") if "import anywidget" in path.read_text(encoding="utf-8")]
    assert importing == ["widget.py"]


# In a browser --------------------------------------------------------------------------------------------------------

#: A notebook's end of a widget, as anywidget calls it: one model, and as many views as are asked for.
NOTEBOOK = """<!doctype html>
<meta charset="utf-8">
{policy}
<body style="color: black; background: white">
<script type="module">
const traits = {traits};
const heard = new Map();
globalThis.saved = [];
globalThis.model = {{
  get: (name) => traits[name],
  set: (name, value) => {{
    if (traits[name] === value) return;
    traits[name] = value;
    for (const hear of heard.get(`change:${{name}}`) ?? []) hear();
  }},
  save_changes: () => saved.push(traits.text),
  on: (event, hear) => heard.set(event, [...(heard.get(event) ?? []), hear]),
  off: (event, hear) => heard.set(event, (heard.get(event) ?? []).filter((it) => it !== hear)),
}};
globalThis.hearers = () => [...heard.values()].flat().length;
globalThis.cells = [];
globalThis.show = () => {{
  const el = document.body.appendChild(document.createElement("div"));
  cells.push({{ el, end: widget.render({{ model, el }}) }});
}};
{code}
globalThis.widget = shown;
show();
</script>
"""


class Notebook:
    """A cell with the laboratory in it, and the page inside of its frame."""

    def __init__(self, browser: Any, folder: Path, code: str, text: str = QUICK, policy: str = "") -> None:
        self.browser = browser
        state = json.dumps({"_page": laboratory_page(), "text": text, "height": None}).replace("<", "\\u003c")
        # A page from a file imports no other: the module's name for what it exports is read instead.
        body, _, name = code.strip().removesuffix("};").rpartition("export{")
        name = name.removesuffix(" as default")
        meta = f'<meta http-equiv="Content-Security-Policy" content="{policy}">' if policy else ""
        page = folder / "notebook.html"
        page.write_text(
            NOTEBOOK.format(policy=meta, traits=state, code=f"{body}\nconst shown = {name};"), encoding="utf-8"
        )
        motion = {"features": [{"name": "prefers-reduced-motion", "value": "no-preference"}]}
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", motion)
        browser.get("about:blank")
        browser.get(page.as_uri())

    def inside(self, script: str, cell: int = 0) -> Any:
        """The result of a script in the page of a cell."""
        frame = self.browser.find_elements("css selector", "iframe")[cell]
        # A browser draws no frame that is out of view.
        self.browser.execute_script("arguments[0].scrollIntoView()", frame)
        self.browser.switch_to.frame(frame)
        try:
            return self.browser.execute_script(script)
        finally:
            self.browser.switch_to.default_content()

    def title(self, cell: int = 0) -> str:
        return str(self.inside("return document.querySelector('.title')?.textContent ?? ''", cell))

    def run(self, script: str) -> Any:
        return self.browser.execute_script(script)

    def workers(self) -> int:
        targets = self.browser.execute_cdp_cmd("Target.getTargets", {})["targetInfos"]
        return sum(target["type"] == "worker" for target in targets)


TYPE = """const area = document.querySelector('.editor textarea'); area.value = {text};
    area.dispatchEvent(new Event('input', {{bubbles: true}}))"""


@pytest.mark.sampled(1)
@pytest.mark.parametrize("policy", ["", VS_CODE], ids=["free", "as in VS Code"])
def test_a_cell_runs_the_page(browser: Any, tmp_path: Path, code: str, policy: str) -> None:
    notebook = Notebook(browser, tmp_path, code, policy=policy)
    until(lambda: notebook.title() == "Two flows")
    # It runs without a click.
    time = "return document.querySelector('.figures dd')?.textContent ?? ''"
    first = until(lambda: notebook.inside(time))
    until(lambda: notebook.inside(time) != first)
    # The page reaches nothing of the notebook.
    assert (
        notebook.inside("try { return parent.document.title } catch (error) { return error.name }") == "SecurityError"
    )


def test_page_and_model_follow_each_other(browser: Any, tmp_path: Path, code: str) -> None:
    notebook = Notebook(browser, tmp_path, code)
    until(lambda: notebook.title() == "Two flows")
    wrong, right = QUICK.replace('"10Mbps"', '"fast"'), QUICK.replace("Two flows", "Typed")
    notebook.inside(TYPE.format(text=json.dumps(wrong)))
    until(lambda: notebook.inside("return document.querySelector('#wrong').textContent"))
    notebook.inside(TYPE.format(text=json.dumps(right)))
    # An invalid scenario is not saved, and a valid one is reported once.
    assert until(lambda: notebook.run("return saved")) == [right]
    notebook.run(f"model.set('text', {json.dumps(QUICK.replace('Two flows', 'From Python'))})")
    until(lambda: notebook.title() == "From Python")
    assert "From Python" in notebook.inside("return document.querySelector('.editor textarea').value")
    assert notebook.run("return saved") == [right]


@pytest.mark.long
def test_views_of_one_model_show_the_same_and_end_with_their_cells(browser: Any, tmp_path: Path, code: str) -> None:
    notebook = Notebook(browser, tmp_path, code)
    until(lambda: notebook.title() == "Two flows")
    alone = notebook.workers()
    notebook.run("show()")
    until(lambda: notebook.title(1) == "Two flows")
    until(lambda: notebook.workers() > alone)
    notebook.inside(TYPE.format(text=json.dumps(QUICK.replace("Two flows", "Both"))), 1)
    until(lambda: (notebook.title(0), notebook.title(1)) == ("Both", "Both"))
    # A frame that a notebook moves restarts, with what is shown now.
    notebook.run("document.body.append(cells[1].el)")
    until(lambda: notebook.title(1) == "Both")
    notebook.run("for (const { end } of cells) end()")
    until(lambda: notebook.workers() == 0)
    assert notebook.run("return document.querySelectorAll('iframe').length") == 0
    assert notebook.run("return hearers()") == 0


@pytest.mark.long
def test_a_cell_has_the_colors_and_the_height_that_fit(browser: Any, tmp_path: Path, code: str) -> None:
    notebook = Notebook(browser, tmp_path, code)
    theme = "return document.documentElement.dataset.theme"
    until(lambda: notebook.title() == "Two flows")
    assert notebook.inside(theme) == "light"
    for color, expected in (("white", "dark"), ("oklch(0.2 0 0)", "light"), ("oklch(0.9 0 0)", "dark")):
        notebook.run(f"document.body.style.cssText = 'color: {color}'")
        until(lambda it=expected: notebook.inside(theme) == it)
    overflow = "return document.documentElement.scrollHeight - innerHeight"
    height = "return document.querySelector('iframe').offsetHeight"
    until(lambda: notebook.inside(overflow) == 0)
    high = notebook.run(height)
    notebook.run("document.querySelector('iframe').parentElement.style.width = '400px'")
    # Elements in a row become elements in a column then.
    until(lambda: notebook.run(height) > high + 100 and notebook.inside(overflow) == 0)
    notebook.run("model.set('height', 500)")
    until(lambda: notebook.run(height) == 500)


def test_nobody_else_tells_the_page_or_the_widget_anything(browser: Any, tmp_path: Path, code: str) -> None:
    notebook = Notebook(browser, tmp_path, code)
    until(lambda: notebook.title() == "Two flows")
    other = json.dumps({"kind": "text", "text": "other"})
    notebook.run(f"postMessage({other}, '*'); postMessage({{kind: 'height', pixels: 99}}, '*')")
    notebook.inside("postMessage({text: 'other', isDark: true}, '*')")
    for odd in ("null", "3", "{}", "{text: 3, isDark: true}", "{text: 'x'}"):
        notebook.run(f"document.querySelector('iframe').contentWindow.postMessage({odd}, '*')")
    notebook.run("return new Promise((resolve) => setTimeout(resolve, 600))")
    assert notebook.run("return saved") == []
    assert notebook.inside("return document.querySelector('.editor textarea').value") == QUICK
    assert notebook.run("return document.querySelector('iframe').offsetHeight") > 99
