"""Writes the verdicts of an audit in the text format of Prometheus, for the textfile collector of node_exporter.

`auditing` writes the file `forebay.prom` beside the tables. The format is the exposition format 0.0.4.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from forebay.fleets.columns import KEY
from forebay.sanitize import control, sanitize

if TYPE_CHECKING:
    import polars as pl

__all__ = ["prometheus_text"]

#: A control character as `sanitize` writes it.
WRITTEN = re.compile(r"\\(?:x[0-9a-f]{2}|u[0-9a-f]{4}|[rt])")
#: The gauge of a port, with its help text.
GAUGE = "forebay_buffer_ratio"
HEAD = (
    f"# HELP {GAUGE} Configured buffer of the port over the needed one; NaN if the audit does not know it. "
    'If the label "bound" is at_least or at_most, the value is a bound.\n'
    f"# TYPE {GAUGE} gauge\n"
)


def prometheus_text(ports: pl.DataFrame) -> str:
    """One gauge per port.

    Parameters
    ----------
    ports : DataFrame
        Ports with the columns device, port, service_class, verdict, margin, margin_low and margin_high.

    Returns
    -------
    str
        The text; each line ends with a line feed.
    """
    import polars as pl

    texts = ports.with_columns(pl.col(name).cast(pl.String).fill_null("") for name in (*KEY, "verdict"))
    labels = [
        pl.format('{}="{}"', pl.lit(name), _escaped(pl.col(name).replace(_visible(texts[name]))))
        for name in (*KEY, "verdict")
    ]
    low, high = pl.col("margin_low").is_not_null(), pl.col("margin_high").is_not_null()
    bound = (
        pl.when(low & ~high).then(pl.lit("at_least")).when(high & ~low).then(pl.lit("at_most")).otherwise(pl.lit(""))
    )
    labels.append(pl.format('bound="{}"', bound))
    ratio = pl.col("margin").cast(pl.String).fill_null("NaN")
    line = pl.concat_str(pl.lit(GAUGE + "{"), pl.concat_str(labels, separator=","), pl.lit("} "), ratio, pl.lit("\n"))
    return HEAD + "".join(texts.select(line.alias("line"))["line"].to_list())


def _visible(texts: pl.Series) -> dict[str, str]:
    """The names that have control characters, each with the same name in visible ones; other names stay.

    Different names stay different: the backslashes of a name are doubled if it has a control character, or what stands
    for one.
    """
    found = {}
    for name in texts.filter(texts.str.contains(r"[^ -~]|\\")).unique():
        bare = name.replace("\n", "")  # the format has its own escape of a line feed
        if control(bare) or WRITTEN.search(name):
            doubled = name.replace("\\", "\\\\")
            found[name] = "".join(each if each == "\n" else sanitize(each) for each in doubled)
    return found


def _escaped(text: pl.Expr) -> pl.Expr:
    """A label value: backslashes, quotes and line feeds are escaped."""
    for found, written in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n")):
        text = text.str.replace_all(found, written, literal=True)
    return text
