"""Counters that are named as SNMP, gNMI or Prometheus name them: tables, JSON, and texts of scrapes."""

from __future__ import annotations

import re

from forebay.observation.counter_files.json_counters import read_telemetry
from forebay.observation.counter_files.scrapes import is_scrape, read_scrapes
from forebay.observation.counter_files.tables import read_table
from forebay.observation.readers.reader import Head, Kind, Reader, Yields

__all__ = ["GNMI", "QUERY", "SCRAPES", "TABLE", "TELEGRAF", "TELEMETRY"]


def _is_scrape(head: Head) -> bool:
    return not head.is_json and not head.is_binary and is_scrape(head.text)


def _is_gnmi(head: Head) -> bool:
    return head.is_json and head.has("values") and (head.has("updates") or head.has("tags"))


def _is_telegraf(head: Head) -> bool:
    return head.is_json and head.has("fields", "tags")


def _is_query(head: Head) -> bool:
    return head.is_json and head.has("metric") and (head.has("resultType") or head.has("values"))


def _is_json(head: Head) -> bool:
    return head.is_json and not head.is_binary


def _is_table(head: Head) -> bool:
    return not head.is_json and not head.is_binary and re.search(r"[,;\t{:]|\d\s+\d", head.text) is not None


_OVER_TIME = (Yields.COUNTERS, Yields.RATES, Yields.SPEED, Yields.DROPS)
SCRAPES = Reader("Prometheus' text with timestamps", _is_scrape, Kind.COUNTERS, _OVER_TIME, counters=read_scrapes)
GNMI = Reader("gNMI from gnmic", _is_gnmi, Kind.COUNTERS, _OVER_TIME, counters=read_telemetry)
TELEGRAF = Reader("Telegraf's JSON", _is_telegraf, Kind.COUNTERS, _OVER_TIME, counters=read_telemetry)
QUERY = Reader("a range query of Prometheus", _is_query, Kind.COUNTERS, _OVER_TIME, counters=read_telemetry)
TELEMETRY = Reader("counters in JSON", _is_json, Kind.COUNTERS, _OVER_TIME, counters=read_telemetry)
TABLE = Reader("counters in a table", _is_table, Kind.COUNTERS, _OVER_TIME, counters=read_table)
