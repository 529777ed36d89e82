"""The manual's page beside an upload: its scenario, its figures, and the server that a browser asks."""

from __future__ import annotations

import json
import textwrap
import threading
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from statistics import median

import numpy as np
import pytest

from checks.home_link import HOME, MARKS, SETTINGS, draw, read, table
from checks.home_programs import OBJECT_BYTES, OBJECTS, Answering, Loads, Server
from forebay import Scenario
from forebay.measurement.emulation import stand_in
from forebay.storage.files import within
from tests.support.paths import ROOT

PAGE = ROOT / "docs" / "guides" / "emulate.md"
FIGURES = ROOT / "docs" / "data" / "home-link.json"


def test_the_manual_shows_the_scenario_that_was_measured() -> None:
    shown = within(PAGE.read_text(), ("<!-- scenario: begin -->", "<!-- scenario: end -->"), str(PAGE))
    assert textwrap.dedent(shown).strip() == HOME.strip()
    for setting in SETTINGS:
        placed = stand_in(Scenario.parse(HOME).changed(*setting.changes), "home")
        assert (placed.path, placed.reverse) == (("up",), ("down",))
        assert placed.scenario.buffer.seconds == pytest.approx(0.005 if "5 ms" in setting.name else 0.2)


def test_the_manuals_table_is_that_of_its_figures() -> None:
    measured = read(FIGURES)
    assert [found.name for found in measured] == [setting.name for setting in SETTINGS]
    assert within(PAGE.read_text(), MARKS, str(PAGE)).strip().splitlines() == table(measured)


def test_the_figures_bear_out_what_the_manual_says() -> None:
    page = {found.name: median(found.loads) for found in read(FIGURES)}
    file = {found.name: median(found.fetches) for found in read(FIGURES)}
    waits = {found.name: found.delay_p50_s for found in read(FIGURES)}
    assert page["upload, 200 ms"] > 2 * page["no upload, 200 ms"]
    assert page["upload, 200 ms with fq_codel"] < page["upload, 200 ms"] / 2
    assert file["upload, 200 ms"] > 3 * file["upload, 5 ms"]
    assert waits["upload, 200 ms"] > 0.1
    assert waits["upload, 5 ms"] <= 0.005


def test_the_picture_shows_every_load_and_writes_every_median() -> None:
    measured = read(FIGURES)
    (axis,) = draw(measured).axes
    shown = sorted(float(x) for line in axis.lines for x in np.asarray(line.get_xdata()))
    assert shown == pytest.approx(sorted(seconds for found in measured for seconds in found.loads))
    assert len(axis.texts) == len(measured)
    assert axis.get_xlim()[0] == 0


@pytest.fixture
def server() -> Iterator[Server]:
    Answering.loads = Loads(2)
    with Server(("127.0.0.1", 0), Answering) as made:
        threading.Thread(target=made.serve_forever, daemon=True).start()
        yield made
        made.shutdown()


def asked(server: Server, path: str) -> bytes:
    with closing(HTTPConnection("127.0.0.1", server.server_port, timeout=30)) as connection:
        connection.request("GET", path)
        return connection.getresponse().read()


def test_a_page_has_so_many_objects_of_so_many_bytes(server: Server) -> None:
    page = asked(server, "/").decode()
    images = [part.partition('"')[0] for part in page.split('<img src="')[1:]]
    assert len(set(images)) == OBJECTS
    assert all(len(asked(server, image)) == OBJECT_BYTES for image in images[:3])
    assert asked(server, images[0]).startswith(b"GIF89a")
    assert len(asked(server, "/1000000")) == 1_000_000


def test_loads_are_reported_when_all_have_finished(server: Server) -> None:
    answers: list[bytes] = []
    waiting = threading.Thread(target=lambda: answers.append(asked(server, "/loads")))
    waiting.start()
    asked(server, "/loaded?ms=1500.5")
    waiting.join(0.3)
    assert not answers
    asked(server, "/loaded?ms=250")
    waiting.join(30)
    assert json.loads(answers[0]) == [1.5005, 0.25]
