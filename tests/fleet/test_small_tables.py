"""Tables of years and of boxes: an error is one line with file and line, and never a traceback."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forebay.errors import InputError
from forebay.fleets.growth import Growth
from forebay.fleets.replacement import memories


def boxes(path: Path) -> object:
    return memories(f"platform={path}")


def years(path: Path) -> object:
    return Growth.parse(str(path))


READERS = pytest.mark.parametrize(
    ("reader", "head"), [(boxes, "platform,bytes_per_port"), (years, "year,factor")], ids=["boxes", "years"]
)


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "table.csv"
    path.write_text(text, encoding="utf-8", newline="")
    return path


def test_the_tables_are_read(tmp_path: Path) -> None:
    path = written(tmp_path, "note,bytes_per_port,platform\nx, 9000 ,a\ny,1,b\n")
    assert memories(f"platform={path}") == {"a": 9000, "b": 1}
    assert Growth.parse(str(written(tmp_path, "year,factor\n2031,2\n2030,1.5\n"))).years == ((2030, 1.5), (2031, 2.0))


@pytest.mark.parametrize(
    ("text", "size"),
    [("2MB", 2_000_000), ("12MiB", 12 * 2**20), ("1.5 GB", 1_500_000_000), ("4096", 4096), ("1e3B", 1000)],
)
def test_the_memory_of_a_box_may_have_a_unit(text: str, size: int, tmp_path: Path) -> None:
    path = written(tmp_path, f"platform,bytes_per_port\na,{text}\n")
    assert memories(f"platform={path}") == {"a": size}


@pytest.mark.parametrize("text", ["2mb", "2Mb", "0MB", "0", "2000TB", "-2MB", "2 packets", "5ms", "\u0663", ""])
def test_a_memory_that_is_no_size_is_refused(text: str, tmp_path: Path) -> None:
    path = written(tmp_path, f"platform,bytes_per_port\na,{text}\n")
    with pytest.raises(InputError, match=r", line 2: found .*; allowed: .*12MB, 12MiB or 12000000"):
        memories(f"platform={path}")


@READERS
@pytest.mark.parametrize(
    ("row", "place"),
    [
        ("1," + "9" * 5000, ", line 2: found"),
        ("9" * 5000 + ",0", ", line 2: found"),
        ("a," + "9" * 131_073, ", line 2: found what is no row"),
        ("1", ", line 2: found"),
        ("1,-5", ", line 2: found"),
        (",7", ", line 2: found"),
        ("2,7\n2,7", ", line 3: found"),
        ("", ": found no row"),
    ],
)
def test_an_error_is_one_short_line_with_file_and_line(
    reader: Callable[[Path], object], head: str, row: str, place: str, tmp_path: Path
) -> None:
    path = written(tmp_path, f"{head}\n{row}\n")
    with pytest.raises(InputError) as raised:
        reader(path)
    assert str(raised.value).startswith(f"{path}{place}")
    assert "allowed: " in str(raised.value)
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < len(str(path)) + 400


@READERS
def test_other_columns_are_refused(reader: Callable[[Path], object], head: str, tmp_path: Path) -> None:
    for text in ("", "a,b\n1,2\n"):
        with pytest.raises(InputError, match=f"found other columns; allowed: a table with the columns {head}"):
            reader(written(tmp_path, text))


@READERS
def test_any_text_is_a_table_or_an_error(
    reader: Callable[[Path], object], head: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("any")

    @given(st.text(st.characters(codec="utf-8"), max_size=60))
    def read(text: str) -> None:
        for each in (text, f"{head}\n{text}"):
            with suppress(InputError):
                reader(written(folder, each))

    read()
