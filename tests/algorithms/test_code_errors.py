"""The error of a user's code names the file, the line and the attribute, whatever the code raises."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.algorithms.hostile import failure, refusal, scenario


def test_a_wrong_attribute_is_not_named_as_a_method(tmp_path: Path) -> None:
    text = failure(scenario(tmp_path, on_ack="self.cwnd = 'abc'"))
    assert "`cwnd` is 'abc'; allowed: a number of packets from 0 to 2^24 (in `on_ack` at " in text
    text = failure(scenario(tmp_path, on_ack="self.ssthresh = 'abc'"))
    assert "`ssthresh` is 'abc'; allowed: a number" in text
    method = "self.slow_start(ack.acked)\n    def window(self):\n        return 'abc'"
    assert "`window` returned 'abc'" in failure(scenario(tmp_path, on_ack=method))


def test_an_exception_without_a_text_keeps_its_line(tmp_path: Path) -> None:
    code = "raise type('Odd', (Exception,), {'__str__': lambda self: 1 / 0})"
    text = failure(scenario(tmp_path, on_ack=code))
    assert text.startswith("mine.py:10: Odd: its text cannot be shown, because `__str__` raised ZeroDivisionError")


def test_an_exception_with_a_lone_surrogate_keeps_its_line(tmp_path: Path) -> None:
    text = failure(scenario(tmp_path, on_ack="raise ValueError(chr(0xdcff))"))
    assert text.startswith("mine.py:10: ValueError: \\udcff (in `on_ack`")


@pytest.mark.parametrize("code", ["raise SyntaxError('odd')", "compile('x = ', 'other', 'exec')"])
def test_a_syntax_error_of_a_call_names_the_line_of_the_call(tmp_path: Path, code: str) -> None:
    assert failure(scenario(tmp_path, on_ack=code)).startswith("mine.py:10: SyntaxError: ")


def test_a_nul_byte_is_named_with_its_line(tmp_path: Path) -> None:
    path = scenario(tmp_path)
    with (tmp_path / "mine.py").open("a", encoding="utf-8") as file:
        file.write("x = 'a\0b'\n")
    line = (tmp_path / "mine.py").read_text(encoding="utf-8").count("\n")
    text = refusal(path)
    assert text == f"mine.py:{line}: found a NUL byte; allowed: the text of Python code"
