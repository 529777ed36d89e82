/** The four readouts of a run, each with its time span, and the counters of the run. */

import { useRef } from "preact/hooks";
import { changeTitle, compare, comparisonText } from "./comparison.ts";
import type { Model } from "./model.ts";
import { amount, rate, share, short, time } from "./numbers.ts";
import { countedSince } from "./readouts.ts";
import { Term, type TermName } from "./terms.tsx";

/** Time for which a number stays, so that it can be read, in milliseconds. */
const HOLD_MS = 200;

/** Value of a run that changes a few times per second while the run plays, but at once if it was null. */
function useHeld<T>(model: Model, of: unknown, make: () => T | null): T | null {
  const held = useRef<{ sinceMs: number; of: unknown; value: T | null } | null>(null);
  const ms = performance.now();
  const last = held.current;
  const isFresh = last !== null && last.of === of && last.value !== null && ms - last.sinceMs < HOLD_MS;
  if (isFresh && model.phase === "playing") return last.value;
  const value = make();
  held.current = { sinceMs: ms, of, value };
  return value;
}

export function ReadoutsView({ model }: { model: Model }): preact.JSX.Element {
  const { picture, resolved, report } = model;
  const link = picture?.links[resolved?.target ?? 0];
  const { readouts } = model;
  const backlogS = link?.backlogS ?? 0;
  const held = useHeld(model, readouts, () => readouts.now && { now: readouts.now, delayS: backlogS });
  const { now, delayS } = held ?? { now: null, delayS: backlogS };
  const since = countedSince(picture?.timeS ?? 0, resolved?.warmup_s ?? 0);
  const span = now ? `last ${time(now.spanS)}` : "no span yet";
  const whole = `${time(resolved?.warmup_s ?? 0)} to ${time((resolved?.warmup_s ?? 0) + (resolved?.measure_s ?? 0))}`;
  const mean = (name: string): number => report?.metrics[name]?.mean ?? Number.NaN;
  return (
    <>
      <dl class="readouts">
        <Readout
          term="utilization"
          name="Utilization"
          value={share(report ? mean("utilization") : (now?.utilization ?? Number.NaN))}
          span={report ? whole : span}
        />
        <Readout
          term="loss"
          name="Loss rate"
          value={share(report ? mean("loss_rate") : (now?.lossRate ?? Number.NaN))}
          span={report ? whole : span}
        />
        <Readout
          term={report ? "p99" : "delay"}
          name={report ? "Queueing delay, p99" : "Queueing delay"}
          value={time(report ? mean("queue_delay_p99_s") : delayS)}
          span={report ? whole : "now"}
        />
        <Readout
          term="goodput"
          name="Goodput"
          value={rate(report ? mean("goodput_bps") : (now?.goodputBps ?? Number.NaN))}
          span={report ? whole : span}
        />
      </dl>
      <dl class="figures" aria-label="Counters">
        <Figure name="time" value={time(picture?.timeS ?? 0)} />
        <Figure name="counted since" value={time(since)} />
        <Figure name="packets" value={short(link?.arrivals ?? 0)} />
        <Figure name="lost" value={amount(link?.drops ?? 0)} />
        <Figure name="marked" value={amount(link?.marks ?? 0)} />
        <Figure name="events per second" value={short(model.eventsPerSecond)} />
      </dl>
    </>
  );
}

/** Round trips that both runs must have for a comparison. */
const COMPARED_ROUND_TRIPS = 5;

/** Difference that a change made, in words, while the charts show the previous run. */
export function ChangeView({ model }: { model: Model }): preact.JSX.Element | null {
  const { before, run, resolved } = model;
  const isChanged = before !== null && run !== null && before.key !== run.key;
  const limits = { warmupS: resolved?.warmup_s ?? 0, spanS: COMPARED_ROUND_TRIPS * model.roundTripS };
  const comparison = useHeld(model, run?.history, () => (isChanged ? compare(before, run, limits) : null));
  if (!isChanged) return null;
  return (
    <p class="change">
      <b>{changeTitle(before, run)}:</b>{" "}
      {comparison ? comparisonText(comparison) : "the pale lines in the charts show the run before."}
    </p>
  );
}

function Readout(props: { term: TermName; name: string; value: string; span: string }): preact.JSX.Element {
  const { term, name, value, span } = props;
  return (
    <div>
      <dt>
        <Term name={term}>{name}</Term>
      </dt>
      <dd>
        <b>{value}</b> <span class="span">{span}</span>
      </dd>
    </div>
  );
}

function Figure({ name, value }: { name: string; value: string }): preact.JSX.Element {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}
