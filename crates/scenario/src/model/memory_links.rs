//! Refusals of links that do not fit the memory that they share: guarantees, counters and headroom.
//! A scenario calls them after it has read all links.

use crate::model::link::Link;
use crate::model::memory::{Memory, MemoryThreshold, PfcCounters};
use crate::text::cursor::Cursor;
use crate::text::tree::ScenarioError;

/// Refuses links whose thresholds and guarantees do not fit their memory.
pub(crate) fn check_memories(
    (links, cursors): (&[Link], &[Cursor<'_>]),
    memories: &[Memory],
    root: &Cursor<'_>,
) -> Result<(), ScenarioError> {
    check_headroom(links, memories, root)?;
    let mut guaranteed: Vec<u64> = memories
        .iter()
        .map(|memory| memory.headroom.and_then(|part| memory.in_its_unit(part)))
        .map(Option::unwrap_or_default)
        .collect();
    for (link, cursor) in links.iter().zip(cursors) {
        let Some(number) = link.memory else {
            let mut keys = ["memory_alpha", "memory_reserved"].iter();
            let stray = keys.find_map(|key| cursor.get(key));
            if let Some(stray) = stray {
                return Err(stray.error("only with `memory`"));
            }
            if link.has_pfc_alpha() {
                return Err(
                    cursor.error_found("`pfc.alpha` without `memory`", "`memory` of the link")
                );
            }
            continue;
        };
        let memory = &memories[number];
        check_counters((link, cursor), (links, memory, number))?;
        if memory.threshold == MemoryThreshold::Lqd {
            let refused = cursor.get("memory_alpha").or_else(|| cursor.get("pfc"));
            if let Some(refused) = refused {
                return Err(refused.error(format!(
                    "no such key at a link of `{}`, whose longest queue loses packets (`lqd`)",
                    memory.name
                )));
            }
            if link.is_lossless() {
                return Err(cursor.error_found(
                    "a lossless class",
                    format!(
                        "none in `{}`, whose longest queue loses packets (`lqd`)",
                        memory.name
                    ),
                ));
            }
        }
        check_alpha((link, cursor), memory)?;
        let Some(reserved) = link.memory_reserved else {
            continue;
        };
        let here = cursor.get("memory_reserved");
        let here = here.as_ref().unwrap_or(cursor);
        let Some(part) = memory.in_its_unit(reserved) else {
            let allowed = format!("the unit of the memory's size, {}", memory.size);
            return Err(here.error(allowed));
        };
        guaranteed[number] += part;
        if guaranteed[number] > memory.amount() {
            let beside = memory
                .headroom
                .map(|part| format!(" less its headroom, {part}"));
            let allowed = format!(
                "guarantees of all links that are together at most {}, the size of `{}`{}",
                memory.size,
                memory.name,
                beside.unwrap_or_default()
            );
            return Err(here.error(allowed));
        }
    }
    Ok(())
}

/// Refuses a link that favors long flows over short ones.
fn check_alpha((link, cursor): (&Link, &Cursor<'_>), memory: &Memory) -> Result<(), ScenarioError> {
    let of_long_flows = link.memory_alpha.unwrap_or_default();
    if memory.threshold != MemoryThreshold::Fab || of_long_flows <= memory.short_alpha {
        return Ok(());
    }
    let allowed = format!(
        "at most {}, `short_alpha` of `{}`",
        memory.short_alpha, memory.name
    );
    let here = cursor.get("memory_alpha");
    let here = here.as_ref().unwrap_or(cursor);
    Err(here.error_found(of_long_flows.to_string(), allowed))
}

/// Refuses a link whose lossless queues have other keys than those that count their senders with
/// them.
fn check_counters(
    (link, cursor): (&Link, &Cursor<'_>),
    (links, memory, number): (&[Link], &Memory, usize),
) -> Result<(), ScenarioError> {
    if memory.pfc_counters == PfcCounters::Queue {
        return Ok(());
    }
    let sharing = links.iter().filter(|other| other.memory == Some(number));
    let first = sharing.flat_map(Link::lossless_queues).next();
    if link.lossless_queues().all(|pfc| Some(pfc) == first) {
        return Ok(());
    }
    let here = cursor.get("pfc");
    Err(here.as_ref().unwrap_or(cursor).error_found(
        "other values of `pfc` than at another queue of this memory",
        format!("the same `pfc` at all lossless queues of `{}`, whose counters are those of ingress ports", memory.name),
    ))
}

/// Refuses memories whose headroom nothing uses.
fn check_headroom(
    links: &[Link],
    memories: &[Memory],
    root: &Cursor<'_>,
) -> Result<(), ScenarioError> {
    let allowed = "only with a lossless queue (`pfc`) in this memory";
    let of_fabric = root.get("fabric").and_then(|fabric| fabric.get("memory"));
    if let Some(headroom) = of_fabric.and_then(|memory| memory.get("headroom"))
        && !links.iter().any(Link::is_lossless)
    {
        return Err(headroom.error(allowed));
    }
    let list = root.get("memories");
    let items = list.and_then(|list| list.items()).unwrap_or_default();
    for (number, (memory, item)) in memories.iter().zip(&items).enumerate() {
        let mut sharing = links.iter().filter(|link| link.memory == Some(number));
        let headroom = item.get("headroom").filter(|_| memory.headroom.is_some());
        if let Some(headroom) = headroom
            && !sharing.any(Link::is_lossless)
        {
            return Err(headroom.error(allowed));
        }
    }
    Ok(())
}
