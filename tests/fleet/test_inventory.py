"""Reading of an inventory: every row becomes a port or a rejected row, and no input ends in a traceback."""

from __future__ import annotations

import io
import os
import re
import zipfile
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forebay.errors import InputError
from forebay.fleets.columns import PORTS, REJECTED, schema
from forebay.fleets.files import SourceFile, source_files
from forebay.fleets.inventory import read_inventory
from tests.fleet.writing import HEADER, folder_of, inventory, reasons


def test_a_row_becomes_a_port_with_numbers(tmp_path: Path) -> None:
    text = f"{HEADER}\nr1,ge-0/0/0,10Gbps,junos,temporal 50k,,utilization>=98%;loss_rate<=1%,57%,9000\n"
    found = inventory(tmp_path, text)
    assert reasons(found) == []
    assert dict(found.ports.schema) == schema(PORTS)
    assert dict(found.rejected.schema) == schema(REJECTED)
    (row,) = found.ports.to_dicts()
    assert row["rate_bps"] == 10_000_000_000
    assert row["buffer_bytes"] == 62_500_000
    assert (row["utilization"], row["mtu_bytes"], row["line"]) == (0.57, 9000, 2)
    assert row["goals"] == "utilization>=98%; loss_rate<=1%"


@pytest.mark.parametrize(
    ("text", "bits"),
    [
        ("10Gbps", 10**10),
        ("10G", 10**10),
        ("10GE", 10**10),
        ("2.5 Gb/s", 25 * 10**8),
        ("1000000kbps", 10**9),
        ("5m", 5 * 10**6),
    ],
)
def test_rates_are_read_as_networks_write_them(tmp_path: Path, text: str, bits: int) -> None:
    assert inventory(tmp_path, f"device,port,rate\na,b,{text}\n").ports["rate_bps"].to_list() == [bits]


@pytest.mark.parametrize(
    "text", ["10", "10000000000", "-1G", "NaN", "inf", "1e400bps", "10GB/s", "10GBps", "ten", "0G", "99999Tbps"]
)
def test_rates_without_a_unit_or_out_of_range_are_rejected(tmp_path: Path, text: str) -> None:
    found = inventory(tmp_path, f"device,port,rate\na,b,{text}\n")
    ((line, reason),) = reasons(found)
    assert line == 2
    assert reason == f"a b: rate: found `{text}`; allowed: a rate with its unit, as in 10Gbps, from 1kbps to 10Tbps"


def test_a_header_may_state_the_unit(tmp_path: Path) -> None:
    found = inventory(tmp_path, "Device,Interface,Rate (Mbps),buffer_kb\na,b,1000,250\n")
    assert found.ports.select("rate_bps", "buffer_bytes").rows() == [(10**9, 250_000)]


@pytest.mark.parametrize(
    ("platform", "text", "size"),
    [
        ("", "9MB", 9_000_000),
        ("", "64KiB", 65_536),
        ("", "1 TiB", 2**40),
        ("", "512 packets", 768_000),
        ("", "2 ms", 250_000),
        ("ios-xe", "queue-limit 512 packets", 768_000),
        ("ios-xr", "512 packets", 131_072),
        ("ios-xr", "512 pkts", 131_072),
        ("ios-xr", "512p", 131_072),
        ("ios-xr", "2 mbytes", 2_000_000),
        ("linux", "bfifo limit 200kb", 204_800),
        ("junos", "temporal 2k", 250_000),
    ],
)
def test_buffers_are_read_in_the_words_of_the_platform(tmp_path: Path, platform: str, text: str, size: int) -> None:
    found = inventory(tmp_path, f"device,port,rate,platform,buffer\na,b,1Gbps,{platform},{text}\n")
    assert reasons(found) == []
    assert found.ports["buffer_bytes"].to_list() == [size]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("a,b,1G,vyos,,,,,", "platform: found `vyos`; allowed: ios-xr, ios-xe"),
        ("a,b,1G,,5000,,,,", "buffer: found `5000`; allowed: a size such as"),
        ("a,b,1G,,,codle,,,", "queue: found `codle`"),
        ("a,b,1G,,,,util>5,,", "goals: found `util>5`"),
        ("a,b,1G,,,,,1.2,", "utilization: found `1.2`"),
        ("a,b,1G,,,,,57,", "utilization: found `57`"),
        ("a,b,1G,,,,,,20", "mtu: found `20`"),
        (",b,1G,,,,,,", "device: found none"),
        ("a,,1G,,,,,,", "port: found none"),
        ("a,b,,,,,,,", "rate: found none"),
        ("a,b,1G", "found 3 cells; allowed: 9"),
        ("a,b,1G,ios-xe,queue-limit 5 apples,,,,", "buffer: "),
    ],
)
def test_a_wrong_row_is_listed_and_the_others_are_used(tmp_path: Path, row: str, reason: str) -> None:
    found = inventory(tmp_path, f"{HEADER}\nx,y,1G,,,,,,\n{row}\nx,z,1G,,,,,,\n")
    ((line, shown),) = reasons(found)
    assert line == 3
    assert reason in shown
    assert "\n" not in shown
    assert found.ports["port"].to_list() == ["y", "z"]


def test_a_port_twice_is_listed_once(tmp_path: Path) -> None:
    found = inventory(tmp_path, "device,port,rate\na,b,1G\na,b,1G\na,B,1G\n")
    assert [line for line, _ in reasons(found)] == [3, 4]
    assert "as in line 2" in reasons(found)[0][1]
    assert found.ports["port"].to_list() == ["b"]


def test_a_port_twice_with_other_values_is_not_answered(tmp_path: Path) -> None:
    found = inventory(tmp_path, "device,port,rate\na,b,1G\na,b,2G\na,c,1G\n")
    assert [line for line, _ in reasons(found)] == [2, 3]
    assert found.ports["port"].to_list() == ["c"]


def test_files_of_one_port_are_merged(tmp_path: Path) -> None:
    files = {
        "1.csv": "device,port,rate\nr1,GigabitEthernet0/0/1,1G\n",
        "2.csv": "device,port,utilization\nR1,Gi0/0/1,40%\n",
    }
    found = folder_of(tmp_path, files)
    assert found.ports.select("device", "port", "rate_bps", "utilization", "file").rows() == [
        ("r1", "GigabitEthernet0/0/1", 10**9, 0.4, "1.csv")
    ]


def test_files_that_contradict_each_other_reject_the_port(tmp_path: Path) -> None:
    found = folder_of(
        tmp_path,
        {"1.csv": "device,port,rate\nr,p,1G\nr,q,1000Mbps\n", "2.csv": "device,port,rate\nr,p,10G\nr,q,1Gbps\n"},
    )
    assert [reason for _, reason in reasons(found)] == [
        "r p: found `1G` and `10G` as rate in 1.csv and 2.csv; allowed: one of them"
    ] * 2
    assert found.ports["port"].to_list() == ["q"]


def test_counters_stay_with_the_interval_of_their_file(tmp_path: Path) -> None:
    files = {
        "1.csv": "device,port,rate,drops,interval\nr,p,1G,7,100s\nr,q,1G,7,\n",
        "2.csv": "device,port,sent,packets,interval\nr,p,3750000000,9,60s\nr,q,3750000000,9,60s\n",
        "3.csv": "device,port,drops,interval\nr,p,5,1min\n",
    }
    found = folder_of(tmp_path, files)
    assert found.ports.select("port", "utilization", "drops", "packets", "interval_s").rows() == [
        ("p", 0.5, 5, 9, 60.0),
        ("q", 0.5, None, 9, 60.0),
    ]


def test_a_class_has_the_rate_that_another_file_states_for_its_port(tmp_path: Path) -> None:
    files = {
        "1.csv": "device,port,service_class,buffer,rate\nr,Gi0/1,voice,10 ms,\nr,Gi0/1,data,90 ms,100M\n",
        "2.csv": "device,port,rate,mtu,utilization\nR,GigabitEthernet0/1,1G,9000,40%\n",
    }
    found = folder_of(tmp_path, files)
    columns = ("service_class", "rate_bps", "buffer_bytes", "mtu_bytes", "utilization")
    assert found.ports.select(columns).rows() == [
        ("voice", 10**9, 1_250_000, 9000, None),
        ("data", 10**8, 1_125_000, 9000, None),
        (None, 10**9, None, 9000, 0.4),
    ]


def test_a_counter_above_the_rate_is_rejected(tmp_path: Path) -> None:
    found = inventory(
        tmp_path,
        "device,port,rate,bytes,packets,interval\na,b,1G,20000000000,,100s\na,c,1G,,999999999,1s\na,d,1G,6250000000,1000,100s\n",
    )
    assert [line for line, _ in reasons(found)] == [2, 3]
    assert "160.0 % of the rate" in reasons(found)[0][1]
    assert found.ports["utilization"].to_list() == [0.5]


def test_lines_are_counted_through_quotes_and_empty_lines(tmp_path: Path) -> None:
    found = inventory(tmp_path, 'device,port,rate\n"a","b\nc",1G\n\na,d,10\na,e,1G\n')
    assert [line for line, _ in reasons(found)] == [5]
    assert found.ports["line"].to_list() == [2, 6]


@pytest.mark.parametrize("separator", [";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_separators_line_ends_and_byte_order_marks(tmp_path: Path, separator: str, end: str, encoding: str) -> None:
    text = end.join(separator.join(row) for row in (("device", "port", "rate"), ("a", "b", "1G"), ("a", "c", "5")))
    found = inventory(tmp_path, text.encode(encoding))
    assert found.ports["port"].to_list() == ["b"]
    assert [line for line, _ in reasons(found)] == [3]


def test_a_byte_that_is_not_utf_8_rejects_its_row(tmp_path: Path) -> None:
    found = inventory(tmp_path, b"device,port,rate\nZ\xfcrich,b,1G\nbern,b,1G\n")
    assert reasons(found) == [(2, "found a byte that is not UTF-8; allowed: a text in UTF-8")]
    assert found.ports["device"].to_list() == ["bern"]


@pytest.mark.parametrize("cell", ["b\0", '"b\n\0"', "\0"])
@pytest.mark.parametrize("count", [1, 30])
def test_a_byte_of_zero_rejects_its_row_alone(cell: str, count: int, tmp_path: Path) -> None:
    others = "".join(f"bern,p{number},1G,\n" for number in range(1000))
    rows = "".join(f"r{number},{cell},1G,\n" for number in range(count))
    found = inventory(tmp_path, f"device,port,rate,config\n{rows}{others}r,c,1G,\0\n")
    assert [reason for _, reason in reasons(found)] == ["found a byte of zero (NUL); allowed: a text without it"] * (
        count + 1
    )
    assert found.ports["device"].to_list() == ["bern"] * 1000


def _zip() -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("ports.csv", b"0" * 10_000_000)
    return made.getvalue()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "an empty file"),
        (b"\xef\xbb\xbf \n", "an empty file"),
        (bytes(range(256)) * 10, "a binary file"),
        (b"device,port,rate\0\na,b,1G\n", "a binary file"),
        (b"device,port,rate\n" + b"a,b\0\0,1G\n" * 50, "a binary file"),
        (b"hello world\n\0no table\n", "a binary file"),
        ("device,port,rate\na,b,1G\n".encode("utf-16-le"), "a binary file"),
        (_zip(), "a ZIP archive"),
        (b"\x1f\x8b\x08\x00junk", "a gzip archive"),
        (b"PAR1 is no table PAR1", "a table that cannot be read"),
        (b"hello world\nno table\n", "no format that is known"),
        (b"device,prt,rate\na,b,1G\n", "without `port`"),
        (b"device,port,rate,rate\na,b,1G,1G\n", "`rate` twice"),
        (b"device,port,rate,bufer\na,b,1G,9MB\n", "allowed: `buffer`"),
        (b"device,port,rate\n", "no port"),
        (b"device,port," + b"x," * 10**6 + b"rate\n", "columns; allowed: at most 10,000"),
        (b'{"device": "a", "port": ', "no format that is known"),
    ],
)
def test_a_file_that_is_no_inventory_is_one_error(tmp_path: Path, content: bytes, reason: str) -> None:
    with pytest.raises(InputError) as error:
        inventory(tmp_path, content)
    assert reason in str(error.value)
    assert "\n" not in str(error.value)


def test_a_bad_file_of_a_folder_is_one_rejected_row(tmp_path: Path) -> None:
    (tmp_path / "bomb.zip").write_bytes(_zip())
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "self").symlink_to("self")
    (tmp_path / "out.csv").symlink_to("/etc/hostname")
    os.mkfifo(tmp_path / "pipe")
    found = folder_of(tmp_path, {"good.csv": "device,port,rate\na,b,1G\n"})
    assert sorted(found.rejected["file"]) == ["bomb.zip", "loop", "out.csv", "pipe", "self"]
    assert len(found.ports) == 1


def test_no_text_of_a_file_stays_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[SourceFile] = []

    def recorded(path: Path) -> tuple[list[SourceFile], list[tuple[str, str]]]:
        found = source_files(path)
        kept.extend(found[0])
        return found

    monkeypatch.setattr("forebay.fleets.inventory.source_files", recorded)
    folder_of(
        tmp_path,
        {
            "1.csv": "device,port,rate\na,b,1G\n",
            "2.txt": "no inventory\n",
            "3.conf": "interfaces { ge-0/0/0 { mtu 1500; } }\n",
        },
    )
    assert len(kept) == 3
    assert all(set(vars(each)) == {"path", "name"} for each in kept)


def test_a_missing_or_empty_folder_is_one_error(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none", tmp_path / ("x" * 5000)):
        with pytest.raises(InputError):
            read_inventory(path)


def test_the_written_table_reads_back_as_itself(tmp_path: Path) -> None:
    text = f"{HEADER}\nr1,a,10Gbps,,9MB,fq_codel,utilization>=98%,57%,9000\nr1,b,1G,junos,2 ms,,,,\n"
    first = inventory(tmp_path, text).ports.drop("file", "line")
    first.write_parquet(tmp_path / "ports.parquet")
    first.write_csv(tmp_path / "again.csv")
    first.write_ndjson(tmp_path / "again.json")
    for name in ("ports.parquet", "again.csv", "again.json"):
        again = read_inventory(tmp_path / name)
        assert reasons(again) == []
        assert again.ports.drop("file", "line").equals(first), name


def test_json_rows_have_the_line_where_they_begin(tmp_path: Path) -> None:
    text = (
        '[\n{"device": "a", "port": "b", "rate": "1G"},\n{"device": "a", "port": "c",\n "rate": 10},\n'
        '{"device": "a", "port": {}, "rate": "1G"}]\n'
    )
    found = inventory(tmp_path, text, "ports.json")
    assert [line for line, _ in reasons(found)] == [3, 5]


def test_a_unit_in_a_key_of_json_holds_for_texts_too(tmp_path: Path) -> None:
    rows = ('{"device": "a", "port": "b", "rate_mbps": "100"}', '{"device": "a", "port": "c", "rate_mbps": 100}')
    found = inventory(tmp_path, "\n".join((*rows, '{"device": "a", "port": "d", "rate_mbps": "1G"}\n')), "ports.json")
    assert found.ports["rate_bps"].to_list() == [10**8, 10**8, 10**9]


def test_a_misspelled_key_of_json_is_an_error_as_in_a_table(tmp_path: Path) -> None:
    rows = ('{"device": "a", "port": "b", "rate": "1G"}', '{"device": "a", "port": "c", "rate": "1G", "bufer": "9MB"}')
    with pytest.raises(InputError, match="line 2: found the column `bufer`; allowed: `buffer`"):
        inventory(tmp_path, "\n".join(rows) + "\n", "ports.json")


@given(st.lists(st.tuples(*[st.text(max_size=8)] * 4), max_size=30))
def test_every_row_is_a_port_or_a_rejected_row(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, ...]]
) -> None:
    table = pl.DataFrame(rows, schema=dict.fromkeys(("device", "port", "rate", "buffer"), pl.String), orient="row")
    table = table.vstack(pl.DataFrame({"device": ["a"], "port": ["b"], "rate": ["1G"], "buffer": ["9MB"]}))
    path = tmp_path_factory.mktemp("rows") / "ports.parquet"
    table.write_parquet(path)
    found = read_inventory(path)
    assert len(found.ports) + len(found.rejected) == len(table)
    assert found.ports.filter(pl.col("rate_bps").is_null() | (pl.col("rate_bps") <= 0)).is_empty()
    assert all(reason and "\n" not in reason for reason in found.rejected["reason"])


@pytest.mark.long
def test_a_million_rows_with_one_bad(tmp_path: Path) -> None:
    path = tmp_path / "ports.csv"
    with path.open("w") as file:
        file.write("device,port,rate,platform,buffer,profile,utilization\n")
        for number in range(10**6):
            rate = "10" if number == 777_777 else "10Gbps"
            file.write(
                f"r{number // 48},Ethernet{number % 48},{rate},ios-xe,{number % 90 + 1} MB,access,{number % 100}%\n"
            )
    found = read_inventory(path)
    assert [line for line, _ in reasons(found)] == [777_779]
    assert len(found.ports) == 999_999


def test_packets_have_the_size_of_the_mtu(tmp_path: Path) -> None:
    found = inventory(tmp_path, "device,port,rate,mtu,buffer\na,b,1G,9000,512 packets\na,c,1G,,512 packets\n")
    assert found.ports["buffer_bytes"].to_list() == [4_608_000, 768_000]


def test_unknown_platforms_are_rejected_however_many_there_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("forebay.fleets.validation.MOST_DISTINCT", 3)
    rows = "".join(f"r{number},p,1G,x{number}\n" for number in range(10))
    assert len(inventory(tmp_path, f"device,port,rate,platform\n{rows}").rejected) == 10
    rows = "".join(f"r{number},p,1G,q{number}\n" for number in range(10))
    assert len(inventory(tmp_path, f"device,port,rate,queue\n{rows}").rejected) == 10


def test_a_quote_that_does_not_end_names_the_lines_that_it_takes(tmp_path: Path) -> None:
    rows = "".join(f"r{number},p,1G\n" for number in range(20_000))
    found = inventory(tmp_path, f'device,port,rate\nr,"p,1G\n{rows}')
    assert reasons(found)[0][0] == 2
    first = re.fullmatch(
        r"found a cell of more than 131,072 characters from line 2 to line (\d+) \(([0-9,]+) lines\), which are not "
        r"read; allowed: shorter cells, and quotes in pairs",
        reasons(found)[0][1],
    )
    assert first
    assert int(first[2].replace(",", "")) == int(first[1]) - 1
    assert found.ports["line"][0] == int(first[1]) + 1
    assert len(found.ports) > 5_000


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ('r,"p,1G\na,b,1G\na,c,1G\n', "found a quote without an end from line 2 to line 4 (3 lines)"),
        ('r,"p,1G\na,b,1G\na,"c",1G\n', "found a row that is no CSV from line 2 to line 4 (3 lines) ("),
        ('r,"p,1G\na,b,1G\na,"\nx,y,1G\n', "found 2 cells in one row from line 2 to line 4 (3 lines); allowed: 3"),
        ("r,p\n", "found 2 cells; allowed: 3, as in the header"),
    ],
)
def test_a_row_of_several_lines_names_the_first_and_the_last_one(rows: str, reason: str, tmp_path: Path) -> None:
    found = inventory(tmp_path, f"device,port,rate\n{rows}")
    assert reasons(found)[0][0] == 2
    assert reasons(found)[0][1].startswith(reason)


def test_a_long_cell_is_refused_for_its_length(tmp_path: Path) -> None:
    found = inventory(tmp_path, f"device,port,rate\na,{'b' * 10**7},1G\nc,d,1G\n")
    assert reasons(found) == [(2, "found a cell of more than 131,072 characters; allowed: shorter cells")]
    assert found.ports["line"].to_list() == [3]


def test_the_results_of_an_audit_within_the_folder_are_no_inventory(tmp_path: Path) -> None:
    (tmp_path / "ports.csv").write_text("device,port,rate,buffer\na,p1,10Mbps,50kB\n", encoding="utf-8")
    results = tmp_path / "audit"
    (results / "measurements").mkdir(parents=True)
    (results / "summary.json").write_text("{}\n", encoding="utf-8")
    (results / "ports.csv").write_text("device,port,rate,buffer\nb,p1,10Mbps,50kB\n", encoding="utf-8")
    found = read_inventory(tmp_path)
    assert found.ports["device"].to_list() == ["a"]
    assert found.rejected.is_empty()
