//! Reference numbers by name: one formula of this crate per (model, quantity) of a table of rows.
//!
//! Inputs are JSON: numbers, decimal strings, ratios such as "12500/3", lists of those, and for
//! RED thresholds multiples of the buffer such as "0.4K". A quantity's name may carry a parameter
//! ("P(Q>=40)", "buffer for tail 0.01", "T0 = 4 RTT"); an input of that meaning takes precedence.

use forebay_congestion::hstcp::HstcpResponse;
use serde_json::Value;

use crate::droptail_fixed_point::{FixedPoint, SharedLink, one_flow_each};
use crate::error::ModelError;
use crate::hstcp::{self, Form};
use crate::hybrid_fluid::{Connections, HybridFluid, Outcome};
use crate::mm1k::{self, Mm1k};
use crate::pftk::{Pftk, Saturation, Timeout};
use crate::processor_sharing::{self as sharing, BurstQueue, ClosedLoop, RateLimited};
use crate::red_fixed_point::{self as red, Above, DelayView, DropCurve};
use crate::response::{self, Cubic, Htcp, Response};
use crate::small_buffers::{self as small, Stability, TinyBuffer};
use crate::square_root::{self, WindowSum};
use crate::{bbr, bscl, many_flows, one_flow};

type Number = Result<f64, ModelError>;

/// The value of `quantity` of `model` at `inputs` (a JSON object).
///
/// # Errors
///
/// Unknown names, missing or malformed inputs, and whatever the model itself refuses.
pub fn evaluate(model: &str, quantity: &str, inputs: &Value) -> Number {
    let inputs = Inputs { values: inputs };
    let asked = Asked {
        model,
        quantity,
        words: quantity.to_lowercase(),
    };
    let value = match model {
        "bdp" => one_flow::bandwidth_delay_product(
            inputs.number("bits_per_s")?,
            inputs.number("rtt_s")?,
            inputs.number("packet_bytes")?,
        ),
        "drain" => one_flow::drain_time(
            inputs.number("packets")?,
            inputs.number("packet_bytes")?,
            inputs.number("bits_per_s")?,
        ),
        "mm1k" => finite_queue(&asked, &inputs),
        "mm1" => infinite_queue(&asked, &inputs),
        "ps" => processor_sharing(&asked, &inputs),
        "rate-limited-ps" => {
            let system =
                RateLimited::new(inputs.number("core_access_ratio")?, inputs.number("load")?)?;
            if asked.has("mean") {
                Ok(system.mean_flows())
            } else {
                Ok(system.core_limits())
            }
        }
        "closed-ps" => closed_loop(&asked, &inputs),
        "burst-queue" => burst_queue(&asked, &inputs),
        "mathis" => {
            let delayed = asked.has("delayed") && !asked.has("no delayed");
            let default = if delayed { 2.0 } else { 1.0 };
            response::mathis(inputs.number("p")?, inputs.number_or("b", default)?)
        }
        "dd-eq2" => many_flows::flow_rate(inputs.number("p")?, inputs.number("rtt_s")?),
        "dd-eq3" => full_link(&asked, &inputs),
        "pftk" => pftk(&asked, &inputs),
        "pftk-saturation" => saturation(&asked, &inputs),
        "aimd" => aimd(&asked, &inputs),
        "cubic" => cubic(&asked, &inputs),
        "scalable" if asked.has("peak") => response::scalable_peak(inputs.number("p")?),
        "scalable" if asked.has("variation") => Ok(scalable_variation()),
        "scalable" => Response::Scalable.window(inputs.number("p")?, 1.0),
        "htcp" => htcp(&asked, &inputs),
        "hstcp" => hstcp(&asked, &inputs),
        "barman-droptail" => fixed_point(&asked, &shared_link(&inputs, None)?),
        "barman-red" => red_fixed_point(&asked, &inputs),
        "red-chain" => red_chain(&asked, &inputs),
        "hybrid-fluid" => hybrid_fluid(&asked, &inputs),
        "hybrid-fluid-opt3" => {
            let most = inputs.number("max_mean_queue")?;
            outcome(&asked, fluid(&inputs)?.largest_rate(most)?)
        }
        "hybrid-fluid-opt4" => {
            let least = inputs.number("min_mean_rate")?;
            outcome(&asked, fluid(&inputs)?.smallest_queue(least)?)
        }
        "hybrid-fluid-opt5" => {
            let (c1, c2) = (inputs.number("c1")?, inputs.number("c2")?);
            outcome(&asked, fluid(&inputs)?.best_tradeoff(c1, c2)?)
        }
        "stanford" if asked.has("utili") => stanford_bound(&inputs),
        "stanford" => square_root::stanford(inputs.number("bdp")?, inputs.flows()?),
        "wischik-mckeown" => {
            let confidence = asked
                .number_before(" %")
                .map_or(0.999, |percent| percent / 100.0);
            let confidence = inputs.number_or("confidence", confidence)?;
            square_root::wischik_mckeown(inputs.number("bdp")?, inputs.flows()?, confidence)
        }
        "sqrt-n" => square_root_general(&asked, &inputs),
        "single-flow" => single_flow(&asked, &inputs),
        "bbr" => bbr_bounds(&asked, &inputs),
        "bscl" => bscl_bounds(&asked, &inputs),
        "tiny-buffer" => TinyBuffer {
            largest_window: inputs.number("Wmax")?,
            load: inputs.number("rho")?,
            throughput_share: inputs.number("theta")?,
            denominator: asked.number_after("denominator").unwrap_or(2.0),
        }
        .buffer(),
        "morris" => many_flows::morris_loss(
            inputs.flows()?,
            inputs.number("storage")?,
            inputs.number_or("k2", 0.75)?,
        ),
        "flow-proportional" => {
            many_flows::flow_proportional(inputs.flows()?, inputs.number("per_flow")?)
        }
        "gorinsky" => small::two_per_input(inputs.number("input_links")?),
        "power-law" => small::power_law_buffer(inputs.number("exponent")?),
        "small-buffer" => small_buffer(&asked, &inputs),
        _ => Err(ModelError::Unknown {
            what: "model",
            found: model.to_owned(),
            known: MODELS.join(", "),
        }),
    }?;
    crate::error::representable("result", value)
}

/// The models [`evaluate`] knows.
pub const MODELS: [&str; 37] = [
    "bdp",
    "drain",
    "mm1k",
    "mm1",
    "ps",
    "rate-limited-ps",
    "closed-ps",
    "burst-queue",
    "mathis",
    "dd-eq2",
    "dd-eq3",
    "pftk",
    "pftk-saturation",
    "aimd",
    "cubic",
    "scalable",
    "htcp",
    "hstcp",
    "barman-droptail",
    "barman-red",
    "red-chain",
    "hybrid-fluid",
    "hybrid-fluid-opt3",
    "hybrid-fluid-opt4",
    "hybrid-fluid-opt5",
    "stanford",
    "wischik-mckeown",
    "sqrt-n",
    "single-flow",
    "bbr",
    "bscl",
    "tiny-buffer",
    "morris",
    "flow-proportional",
    "gorinsky",
    "power-law",
    "small-buffer",
];

/// The quantity asked for.
struct Asked<'a> {
    model: &'a str,
    quantity: &'a str,
    words: String,
}

impl Asked<'_> {
    fn has(&self, word: &str) -> bool {
        self.words.contains(word)
    }

    fn any(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.has(word))
    }

    fn unknown(&self, known: &str) -> ModelError {
        ModelError::Unknown {
            what: "quantity",
            found: format!("{} {}", self.model, self.quantity),
            known: known.to_owned(),
        }
    }

    /// The number that follows `word` in the quantity's name.
    fn number_after(&self, word: &str) -> Option<f64> {
        let rest = &self.words[self.words.find(word)? + word.len()..];
        let start = rest.find(|c: char| c.is_ascii_digit())?;
        let digits = &rest[start..];
        let numeric = |c: char| c.is_ascii_digit() || matches!(c, '.' | 'e' | '-');
        let end = digits.find(|c| !numeric(c)).unwrap_or(digits.len());
        (1..=end)
            .rev()
            .find_map(|end| digits.get(..end)?.parse().ok())
    }

    /// The number that stands just before `word` in the quantity's name.
    fn number_before(&self, word: &str) -> Option<f64> {
        let head = &self.words[..self.words.find(word)?];
        head.rsplit([' ', ',']).next()?.parse().ok()
    }
}

/// The inputs of a row.
struct Inputs<'a> {
    values: &'a Value,
}

impl Inputs<'_> {
    fn get(&self, names: &[&str]) -> Option<(String, &Value)> {
        names
            .iter()
            .find_map(|&name| Some((name.to_owned(), self.values.get(name)?)))
    }

    fn missing(names: &[&str]) -> ModelError {
        ModelError::Missing {
            parameter: names[0].to_owned(),
            needed: names.join(" or "),
        }
    }

    fn number(&self, name: &str) -> Number {
        self.first(&[name])
    }

    /// The first of `names` that is given.
    fn first(&self, names: &[&str]) -> Number {
        let (name, value) = self.get(names).ok_or_else(|| Self::missing(names))?;
        number(&name, value)
    }

    fn number_or(&self, name: &str, default: f64) -> Number {
        if self.values.get(name).is_some() {
            self.number(name)
        } else {
            Ok(default)
        }
    }

    fn list(&self, names: &[&str]) -> Result<Vec<f64>, ModelError> {
        let (name, value) = self.get(names).ok_or_else(|| Self::missing(names))?;
        match value {
            Value::Array(items) => items.iter().map(|item| number(&name, item)).collect(),
            single => Ok(vec![number(&name, single)?]),
        }
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.values.get(name).and_then(Value::as_str)
    }

    fn flows(&self) -> Number {
        self.first(&["n", "N", "flows"])
    }

    fn capacity(&self) -> Number {
        self.first(&["C_pkts_per_s", "mu_pkts_per_s", "mu", "C"])
    }

    fn rho(&self) -> Number {
        self.first(&["rho", "load"])
    }
}

/// A JSON number, decimal string or ratio of two decimals.
fn number(name: &str, value: &Value) -> Number {
    let malformed = || ModelError::Malformed {
        parameter: name.to_owned(),
        found: value.to_string(),
        allowed: "a number, a decimal string or a ratio such as \"12500/3\"",
    };
    match value {
        Value::Number(number) => number.as_f64().ok_or_else(malformed),
        Value::String(text) => {
            let mut parts = text.split('/').map(|part| part.trim().parse::<f64>());
            match (parts.next(), parts.next(), parts.next()) {
                (Some(Ok(number)), None, None) => Ok(number),
                (Some(Ok(above)), Some(Ok(below)), None) => Ok(above / below),
                _ => Err(malformed()),
            }
        }
        _ => Err(malformed()),
    }
}

fn finite_queue(asked: &Asked, inputs: &Inputs) -> Number {
    let k = inputs.first(&["K", "B"]);
    if asked.has("load with") {
        return mm1k::load_for_loss(inputs.first(&["loss", "p"])?, k?);
    }
    if asked.any(&[
        "buffer with",
        "capacity with",
        "buffer k with",
        "buffer for",
    ]) {
        return mm1k::capacity_for_loss(inputs.rho()?, inputs.first(&["loss", "p"])?);
    }
    let queue = Mm1k::new(inputs.rho()?, k?)?;
    if asked.any(&["accepted", "found", "seen", "bracket"]) {
        return Ok(queue.mean_found_by_accepted());
    }
    if asked.any(&["utili", "carried", "throughput", "busy"]) {
        return Ok(queue.utilization());
    }
    if asked.any(&["p(0)", "empty", "idle"]) {
        return Ok(1.0 - queue.utilization());
    }
    if asked.any(&["waiting", "mean queue", "queue length"]) {
        return Ok(queue.mean_waiting());
    }
    if asked.any(&["ln ", "log"]) {
        return Ok(queue.ln_loss());
    }
    if asked.any(&["block", "loss", "p(full)"]) {
        return Ok(queue.loss());
    }
    if asked.any(&["mean", "number"]) {
        return Ok(queue.mean_number());
    }
    Err(asked.unknown(
        "blocking probability, mean number in system, mean number seen by accepted \
        packets, mean queue, utilisation, load with M/M/1/K blocking = loss",
    ))
}

fn infinite_queue(asked: &Asked, inputs: &Inputs) -> Number {
    if asked.has("load with") {
        return mm1k::load_for_tail(inputs.first(&["loss", "p"])?, inputs.first(&["n", "K"])?);
    }
    if asked.has("buffer") {
        return mm1k::length_for_tail(inputs.rho()?, inputs.first(&["loss", "p"])?);
    }
    let rho = inputs.rho()?;
    if asked.has("mean") {
        return sharing::mean_flows(rho);
    }
    let n = inputs.first(&["n", "K"])?;
    if asked.any(&["p(n=n)", "p(n)"]) {
        return sharing::probability_exactly(rho, n);
    }
    if asked.has("p(n>n)") {
        return sharing::probability_more_than(rho, n);
    }
    if asked.any(&["p(n>=n)", "tail", "rho^n"]) {
        return mm1k::tail_bound(rho, n);
    }
    Err(asked.unknown(
        "P(N>=n), P(N>n), P(N=n), mean number, load with rho^n = loss, buffer n \
        with rho^n = loss",
    ))
}

fn processor_sharing(asked: &Asked, inputs: &Inputs) -> Number {
    if asked.any(&["effective", "residual"]) {
        return sharing::residual_load(
            inputs.first(&["rho_bottlenecked", "rho_elastic", "rho_e"])?,
            inputs.first(&["rho_background", "rho_b"])?,
        );
    }
    let rho = inputs.rho()?;
    if asked.has("throughput") {
        return sharing::flow_throughput(rho);
    }
    if asked.has("mean") {
        return sharing::mean_flows(rho);
    }
    if asked.any(&["more than", "p(n>"]) {
        let named = asked.number_after("more than");
        let n = named.map_or_else(|| inputs.number("n"), |n| inputs.number_or("n", n))?;
        return sharing::probability_more_than(rho, n);
    }
    if asked.has("p(") {
        let named = asked.number_after("p(");
        let n = named.map_or_else(|| inputs.number("n"), |n| inputs.number_or("n", n))?;
        return sharing::probability_exactly(rho, n);
    }
    Err(asked.unknown(
        "P(n flows), P(more than n flows), mean number of flows, flow throughput \
        over C, effective load on residual capacity",
    ))
}

fn closed_loop(asked: &Asked, inputs: &Inputs) -> Number {
    let closed = ClosedLoop::new(
        inputs.first(&["users", "U"])?,
        inputs.first(&["size_over_C_think", "r"])?,
    )?;
    if asked.has("utili") {
        return Ok(closed.utilization());
    }
    if asked.has("mean") {
        return Ok(closed.mean_active());
    }
    let named = asked.number_after("p(").unwrap_or(0.0);
    closed.probability(inputs.number_or("n", named)?)
}

fn burst_queue(asked: &Asked, inputs: &Inputs) -> Number {
    let bursts = if inputs.values.get("bursts").is_some() {
        inputs.list(&["bursts"])?
    } else {
        sharing::slow_start_bursts(inputs.number("flow_packets")?)?
    };
    let queue = BurstQueue::new(inputs.rho()?, &bursts)?;
    if asked.has("buffer") {
        let named = asked.number_after("tail");
        return queue.buffer_for_tail(match named {
            Some(tail) => inputs.number_or("tail", tail)?,
            None => inputs.number("tail")?,
        });
    }
    queue.tail(match asked.number_after("p(q") {
        Some(q) => inputs.number_or("q", q)?,
        None => inputs.number("q")?,
    })
}

fn full_link(asked: &Asked, inputs: &Inputs) -> Number {
    let capacity = (inputs.capacity()?, inputs.first(&["Tp_s", "rtt_s"])?);
    let link = many_flows::FullLink::of_link(inputs.flows()?, capacity, inputs.number("B")?)?;
    if asked.has("window") {
        return Ok(link.mean_window());
    }
    if asked.has("correct") {
        Ok(link.loss())
    } else {
        Ok(link.printed_loss())
    }
}

fn pftk(asked: &Asked, inputs: &Inputs) -> Number {
    let path = Pftk {
        rtt_s: inputs.number("rtt_s")?,
        timeout_s: inputs.number("T0_s")?,
        packets_per_ack: inputs.number_or("b", 2.0)?,
        largest_window: inputs.number_or("Wmax", f64::INFINITY)?,
    };
    let loss = inputs.number("p")?;
    if asked.any(&["approx", "short"]) {
        return path.short_sending_rate(loss);
    }
    if asked.any(&["throughput", "received", "goodput"]) {
        return path.throughput(loss);
    }
    path.sending_rate(loss)
}

fn saturation(asked: &Asked, inputs: &Inputs) -> Number {
    let named = asked.number_after("t0").unwrap_or(4.0);
    let in_rtts = !asked.has("t0") || asked.has("rtt");
    let timeout = if inputs.values.get("T0_s").is_some() {
        Timeout::Seconds(inputs.number("T0_s")?)
    } else if in_rtts {
        Timeout::RoundTrips(named)
    } else {
        Timeout::Seconds(named)
    };
    Saturation {
        flows: inputs.flows()?,
        capacity_pps: inputs.capacity()?,
        propagation_s: inputs.first(&["Tp_s", "rtt_s"])?,
        buffer: inputs.number("B")?,
        timeout,
        packets_per_ack: inputs.number_or("b", 2.0)?,
    }
    .loss()
}

fn aimd(asked: &Asked, inputs: &Inputs) -> Number {
    let cut = inputs.first(&["cut", "b"])?;
    if asked.has("variation") {
        return response::sawtooth_variation(cut);
    }
    let increase = inputs.number_or("a", 1.0)?;
    Response::Aimd { increase, cut }.window(inputs.number("p")?, 1.0)
}

fn cubic(asked: &Asked, inputs: &Inputs) -> Number {
    let cut = inputs.number_or("cut", asked.number_after("cut").unwrap_or(0.3))?;
    let cubic = Cubic {
        scaling: inputs.number_or("C", 0.4)?,
        cut,
    };
    if asked.has("variation") {
        return cubic.variation();
    }
    if asked.has("time t") || inputs.values.get("t_s").is_some() {
        return cubic.window_after_cut(inputs.number("t_s")?, inputs.number("Wmax")?);
    }
    if asked.any(&["friendly", "max"]) {
        return Response::Cubic(cubic).window(inputs.number("p")?, inputs.number("rtt_s")?);
    }
    cubic.epoch_mean_window(inputs.number("p")?, inputs.number("rtt_s")?)
}

/// Coefficient of variation of an exponential epoch from 7/8 of the peak to the peak.
fn scalable_variation() -> f64 {
    let length = libm::log(8.0 / 7.0);
    let mean = 0.125 / length;
    let square = (1.0 - 0.765_625) / (2.0 * length);
    (square / (mean * mean) - 1.0).sqrt()
}

fn htcp(asked: &Asked, inputs: &Inputs) -> Number {
    let kept = inputs.number_or("beta", asked.number_after("beta").unwrap_or(0.5))?;
    let htcp = Htcp {
        kept,
        quiet_s: inputs.number_or("delta_L_s", 1.0)?,
    };
    if asked.has("factor") {
        return htcp.increase_factor(inputs.number("delta_s")?);
    }
    Response::Htcp(htcp).window(inputs.number("p")?, inputs.number("rtt_s")?)
}

fn hstcp_response(inputs: &Inputs) -> Result<HstcpResponse, ModelError> {
    let standard = HstcpResponse::default();
    let response = HstcpResponse {
        low_window: inputs.number_or("w_low", standard.low_window)?,
        high_window: inputs.number_or("w_high", standard.high_window)?,
        low_loss: inputs.number_or("p_low", standard.low_loss)?,
        high_loss: inputs.number_or("p_high", standard.high_loss)?,
        high_decrease: inputs.number_or("b_high", standard.high_decrease)?,
    };
    hstcp::validate(&response)?;
    Ok(response)
}

fn hstcp(asked: &Asked, inputs: &Inputs) -> Number {
    let response = hstcp_response(inputs)?;
    if asked.any(&["constant a", "window_log"]) {
        return Ok(response.window_log_ratio());
    }
    if asked.any(&["c/a", "slope", "constant s", "exponent s"]) {
        return Ok(response.slope());
    }
    if asked.any(&["a/c", "1/s"]) {
        return Ok(1.0 / response.slope());
    }
    if asked.has("constant c") {
        return Ok(response.loss_log_ratio());
    }
    if inputs.values.get("w").is_some() {
        let w = crate::error::positive("window (packets)", inputs.number("w")?)?;
        return match asked.words.get(..1) {
            Some("a") => Ok(response.increase(w)),
            Some("b") => Ok(hstcp::decrease(&response, w)),
            Some("p") if w > response.low_window => Ok(response.loss_at(w)),
            // At and below the low window HSTCP is Reno; at it the line gives low_loss.
            Some("p") if w == response.low_window => Ok(response.low_loss),
            Some("p") => Ok((1.5 / (w * w)).min(1.0)),
            _ => Err(asked.unknown("a(w), b(w), p(w)")),
        };
    }
    let form = if asked.any(&["printed", "wrong"]) {
        Form::ClosedPrinted
    } else if asked.any(&["self-consistent", "deterministic"]) {
        Form::SelfConsistent
    } else if asked.has("peak") {
        Form::PeakExact
    } else if asked.has("closed") {
        Form::Closed
    } else {
        Form::Approximate
    };
    hstcp::mean_window(&response, form, inputs.number("p")?)
}

/// The fixed point of a row's link, with a RED curve or drop-tail.
fn shared_link(
    inputs: &Inputs,
    red: Option<(&DropCurve, DelayView)>,
) -> Result<FixedPoint, ModelError> {
    let flows = one_flow_each(&inputs.list(&["rtts_s", "rtt_s"])?);
    // The rows of the RED fixed point name no form; theirs is the paper's closed one.
    let unnamed = if red.is_some() { "closed" } else { "approx" };
    let form = inputs
        .text("throughput_form")
        .or_else(|| inputs.text("response"));
    let link = SharedLink {
        capacity_pps: inputs.capacity()?,
        system_capacity: inputs.number("K")?,
        flows: &flows,
        response: response_named(form.unwrap_or(unnamed), hstcp_response(inputs)?)?,
        background_load: 0.0,
    };
    match red {
        Some((curve, view)) => link.red(curve, view),
        None => link.droptail(),
    }
}

/// The response function a row names.
fn response_named(name: &str, response: HstcpResponse) -> Result<Response, ModelError> {
    let lower = name.to_lowercase();
    let form = |form| Ok(Response::Hstcp { response, form });
    match lower.as_str() {
        "closed" => form(Form::Closed),
        "approx" | "approximate" | "eq3" | "eq. (3)" | "hstcp" => form(Form::Approximate),
        "printed" => form(Form::ClosedPrinted),
        "peak" => form(Form::PeakExact),
        "self-consistent" | "deterministic" | "exact" => form(Form::SelfConsistent),
        "aimd" | "reno" | "newreno" | "mathis" => Ok(Response::default()),
        "cubic" => Ok(Response::Cubic(Cubic::default())),
        "htcp" | "h-tcp" => Ok(Response::Htcp(Htcp::default())),
        "scalable" => Ok(Response::Scalable),
        _ => Err(ModelError::Unknown {
            what: "throughput form",
            found: name.to_owned(),
            known: "approx, closed, printed, peak, self-consistent, aimd, cubic, htcp, scalable"
                .to_owned(),
        }),
    }
}

fn fixed_point(asked: &Asked, found: &FixedPoint) -> Number {
    if asked.any(&["load", "rho"]) {
        return Ok(found.offered_load);
    }
    if asked.any(&["loss", "drop", "p_red", "blocking"]) {
        return Ok(found.loss);
    }
    if asked.has("utili") {
        return Ok(found.utilization);
    }
    if asked.any(&["delay", "wait"]) {
        return Ok(found.queue_delay_s);
    }
    if asked.any(&["accepted", "seen", "found"]) {
        return Ok(found.mean_found);
    }
    if asked.any(&["mean", "number", "queue"]) {
        return Ok(found.mean_number);
    }
    Err(asked.unknown(
        "offered load rho, loss probability, utilisation, mean number in system, \
        seen by accepted, queueing delay",
    ))
}

/// A RED threshold: a number, or a multiple of K such as "0.4K".
fn threshold(inputs: &Inputs, name: &str, k: f64) -> Number {
    match inputs.text(name) {
        Some("K") => Ok(k),
        Some(text) if text.ends_with('K') => {
            let share = Value::String(text.trim_end_matches('K').to_owned());
            Ok(number(name, &share)? * k)
        }
        _ => inputs.number(name),
    }
}

fn drop_curve(asked: &Asked, inputs: &Inputs) -> Result<(f64, DropCurve), ModelError> {
    let k = inputs.number("K")?;
    let flagged = inputs
        .values
        .get("gentle")
        .and_then(Value::as_bool)
        .unwrap_or(false);
    let gentle = flagged || asked.has("gentle");
    let curve = DropCurve {
        min_threshold: threshold(inputs, "min_th", k)?,
        max_threshold: threshold(inputs, "max_th", k)?,
        max_probability: inputs.number_or("p_max", 0.1)?,
        above: if gentle { Above::Gentle } else { Above::All },
    };
    Ok((k, curve))
}

fn red_fixed_point(asked: &Asked, inputs: &Inputs) -> Number {
    let (_, curve) = drop_curve(asked, inputs)?;
    // The rows' round-trip times contain the printed mean queue unless they say otherwise.
    let accepted = inputs
        .text("delay")
        .is_some_and(|view| view.contains("accepted"));
    let view = if accepted {
        DelayView::Accepted
    } else {
        DelayView::Printed
    };
    fixed_point(asked, &shared_link(inputs, Some((&curve, view)))?)
}

fn red_chain(asked: &Asked, inputs: &Inputs) -> Number {
    let (k, curve) = drop_curve(asked, inputs)?;
    let chain = red::chain(inputs.rho()?, k, &curve)?;
    if asked.any(&["accepted", "seen", "found"]) {
        return Ok(chain.mean_found);
    }
    if asked.has("mean") {
        return Ok(chain.mean_number);
    }
    if asked.has("utili") {
        return Ok(chain.utilization);
    }
    if asked.any(&["empty", "p(0)", "pi(0)"]) {
        return Ok(chain.empty);
    }
    if asked.any(&["p_red", "drop", "loss"]) {
        return Ok(chain.loss());
    }
    Err(asked.unknown("p_red, mean_number, seen_by_accepted, utilisation, empty"))
}

/// The fluid of a row: mu, alpha, beta given outright, or equal connections.
fn fluid(inputs: &Inputs) -> Result<HybridFluid, ModelError> {
    if inputs.values.get("alpha").is_some() {
        return HybridFluid::new(
            inputs.capacity()?,
            inputs.number("alpha")?,
            inputs.number("beta")?,
        );
    }
    let connections = Connections {
        rtt_s: inputs.number("rtt_s")?,
        flows: inputs.flows()?,
        flows_cut: inputs.first(&["flows_cut", "n_cut"])?,
        kept: inputs.number_or("beta0", 0.5)?,
    };
    HybridFluid::of_connections(inputs.capacity()?, &connections)
}

fn hybrid_fluid(asked: &Asked, inputs: &Inputs) -> Number {
    let fluid = fluid(inputs)?;
    match asked.words.as_str() {
        "b0" => return Ok(fluid.full_buffer()),
        "beta" => return Ok(fluid.kept),
        "alpha" | "growth" => return Ok(fluid.growth),
        _ => {}
    }
    if asked.any(&["b0 / bdp", "b0/bdp", "validity"]) {
        return fluid.frozen_rtt_ratio(inputs.number("rtt_s")?);
    }
    let buffer = if inputs.values.get("B").is_some() {
        inputs.number("B")?
    } else {
        inputs.number("B_over_B0")? * fluid.full_buffer()
    };
    if asked.any(&["period", "cycle"]) {
        return fluid.period(buffer);
    }
    if asked.any(&["leading", "b->0"]) {
        return fluid.mean_queue_leading(buffer);
    }
    if asked.any(&["minimum", "min queue", "least", "smallest"]) {
        return fluid.least_queue(buffer);
    }
    if asked.has("mean queue") {
        let queue = fluid.mean_queue(buffer)?;
        let over = asked.any(&["/ b0", "over b0"]);
        return Ok(if over {
            queue / fluid.full_buffer()
        } else {
            queue
        });
    }
    if asked.any(&["rate", "utili"]) {
        let rate = fluid.mean_rate(buffer)?;
        let over = asked.any(&["/ mu", "/mu", "over mu", "utili"]);
        return Ok(if over {
            rate / fluid.capacity_pps
        } else {
            rate
        });
    }
    Err(asked.unknown(
        "B0, beta, alpha, mean rate / mu, mean rate, mean queue, minimum queue, \
        period, mean queue leading term B->0",
    ))
}

fn outcome(asked: &Asked, found: Outcome) -> Number {
    if asked.has("buffer") {
        Ok(found.buffer)
    } else if asked.has("rate") {
        Ok(found.mean_rate)
    } else if asked.has("queue") {
        Ok(found.mean_queue)
    } else {
        Err(asked.unknown("optimal buffer, optimal mean rate, optimal mean queue"))
    }
}

fn stanford_bound(inputs: &Inputs) -> Number {
    let flows = inputs.flows()?;
    let buffer = if inputs.values.get("B_over_bdp").is_some() {
        inputs.number("B_over_bdp")?
    } else {
        inputs.number("B_over_bdp_by_sqrt_n")? / flows.sqrt()
    };
    WindowSum::reno(flows).utilization(buffer)
}

fn square_root_general(asked: &Asked, inputs: &Inputs) -> Number {
    let variation = if asked.has("cubic") {
        let cut = inputs.number_or("cut", asked.number_after("cut").unwrap_or(0.3))?;
        Cubic {
            cut,
            ..Cubic::default()
        }
        .variation()?
    } else {
        inputs.number_or("kappa", square_root::reno_variation())?
    };
    let sum = WindowSum {
        flows: inputs.flows()?,
        variation,
        correlation: inputs.number_or("r", inputs.number_or("correlation", 0.0)?)?,
    };
    if asked.has("utili") {
        return sum.utilization(inputs.number("B_over_bdp")?);
    }
    sum.buffer_for_quantile(inputs.number_or("z", asked.number_after("z ").unwrap_or(2.0))?)
}

fn single_flow(asked: &Asked, inputs: &Inputs) -> Number {
    let kept = inputs.number("beta")?;
    if asked.has("buffer for full") {
        return one_flow::full_buffer(kept);
    }
    let buffer = inputs.number("B_over_bdp")?;
    if asked.any(&["worst", "instantaneous"]) {
        return one_flow::worst_utilization(kept, buffer);
    }
    if asked.has("queue") {
        return one_flow::mean_queue(kept, buffer);
    }
    if asked.has("utili") {
        return one_flow::mean_utilization(kept, buffer);
    }
    Err(asked.unknown(
        "buffer for full utilisation / BDP, worst instantaneous utilisation, mean \
        utilisation (AIMD sawtooth), mean queue",
    ))
}

fn bbr_bounds(asked: &Asked, inputs: &Inputs) -> Number {
    if asked.has("standing") {
        return bbr::standing_queue(inputs.number("B")?, inputs.number("bdp")?);
    }
    let buffer = inputs.number("B_over_bdp")?;
    if asked.has("worst") {
        return bbr::worst_utilization(buffer);
    }
    if asked.has("mean") {
        return bbr::mean_utilization(buffer);
    }
    Err(asked.unknown("worst per-RTT utilisation, mean utilisation, standing queue"))
}

fn bscl_bounds(asked: &Asked, inputs: &Inputs) -> Number {
    if asked.has("rtt") {
        return bscl::effective_rtt(&inputs.list(&["rtts_s"])?);
    }
    if asked.any(&["fraction", "share", "hit"]) {
        return bscl::share_hit(inputs.flows()?, inputs.first(&["L", "losses"])?);
    }
    if asked.has("delay") {
        let delay = inputs.first(&["d_s", "delay_s", "d"])?;
        return Ok(inputs.capacity()? * crate::error::non_negative("delay (s)", delay)?);
    }
    let rtt = inputs.first(&["Te_s", "rtt_s"])?;
    let link = bscl::Bscl::new(inputs.capacity()?, rtt, inputs.flows()?)?;
    if asked.has("utili") {
        return link.utilization_buffer(inputs.number("q")?);
    }
    if asked.has("loss") {
        let loss = match asked.number_after("p=") {
            Some(p) => inputs.number_or("p", p)?,
            None => inputs.number("p")?,
        };
        return link.loss_buffer(loss, inputs.number_or("k", many_flows::DELAYED_ACK)?);
    }
    Err(asked.unknown(
        "utilisation buffer, loss buffer, delay buffer, harmonic-mean RTT, \
        fraction of flows hit",
    ))
}

fn small_buffer(asked: &Asked, inputs: &Inputs) -> Number {
    if asked.has("critical") {
        return small::critical_window(inputs.first(&["elasticity", "B"])?);
    }
    let at = Stability::new(inputs.number("wbar")?, inputs.number("B")?)?;
    if asked.has("window") {
        Ok(at.window())
    } else if asked.has("loss") {
        Ok(at.loss())
    } else if asked.has("margin") {
        at.margin()
    } else if asked.any(&["load", "rho", "utili"]) {
        Ok(at.load())
    } else {
        Err(asked.unknown(
            "equilibrium window, equilibrium load, equilibrium loss, stability \
            margin, critical window for stability",
        ))
    }
}
