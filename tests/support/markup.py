"""Parse pages and check that hostile texts stay texts in them."""

from __future__ import annotations

from html.parser import HTMLParser

from tests.support.paths import ROOT

PACKAGE = ROOT / "python" / "forebay"


VIEWS = PACKAGE / "views"


#: Ends an attribute, an element, a script, a CDATA section, a comment; begins a script; fills in a template.
HOSTILE = "\"'></title></script><script>alert(1)</script>]]>--><img src=x onerror=alert(2)>{{ 7 * 7 }}\u2028&amp;"


#: As long, and as harmless as can be.
HARMLESS = "0" * len(HOSTILE)


class Reading(HTMLParser):
    """The content of a page for a browser: elements with the names of their attributes, texts by element, values."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, ...]] = []
        self.texts: list[tuple[str, str]] = []
        self.values: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, *(name for name, _ in attrs)))
        self.values += [value or "" for _, value in attrs]

    def handle_data(self, data: str) -> None:
        self.texts.append((self.elements[-1][0] if self.elements else "", data))

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")

    def unknown_decl(self, data: str) -> None:
        raise AssertionError(f"a declaration: {data}")

    def inside(self, tag: str) -> str:
        """The text of the elements of one kind."""
        return "".join(text for owner, text in self.texts if owner == tag).strip()


#: Elements without an end tag.
VOID = {"meta", "link", "input", "br"}


class Outline(HTMLParser):
    """Checks that what is opened is closed, and collects addresses and text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.addresses: list[str] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        self.addresses += [value or "" for name, value in attrs if name in {"src", "href", "action", "data"}]

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in {"script", "style"}:
            self.words.append(data)


def outline(page: str) -> Outline:
    found = Outline()
    found.feed(page)
    assert found.open == []
    return found
