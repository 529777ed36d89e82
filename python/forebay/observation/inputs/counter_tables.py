"""Counters that are named as SNMP, gNMI or Prometheus name them: tables, JSON, and texts of scrapes."""

from __future__ import annotations

import re

from forebay.observation.counter_files.json_counters import read_telemetry
from forebay.observation.counter_files.scrapes import is_scrape, read_scrapes
from forebay.observation.counter_files.tables import read_table
from forebay.observation.inputs.counters import CounterInput
from forebay.observation.inputs.input import Head, Yields

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
SCRAPES = CounterInput("Prometheus' text with timestamps", _is_scrape, _OVER_TIME, read_scrapes)
GNMI = CounterInput("gNMI from gnmic", _is_gnmi, _OVER_TIME, read_telemetry)
TELEGRAF = CounterInput("Telegraf's JSON", _is_telegraf, _OVER_TIME, read_telemetry)
QUERY = CounterInput("a range query of Prometheus", _is_query, _OVER_TIME, read_telemetry)
TELEMETRY = CounterInput("counters in JSON", _is_json, _OVER_TIME, read_telemetry)
TABLE = CounterInput("counters in a table", _is_table, _OVER_TIME, read_table)
