//! Owns: one row of the raw results, as JSON.
//! May use: `stats`, `serde_json`.
//! Never: a figure that is not in the samples.
//!
//! The figures of all rounds stand there, too, so that a distribution can be drawn from them.

use serde_json::{Map, Value, json};

use crate::Summary;

/// One row of the results: a benchmark on a runtime with its parameters, and what came out.
///
/// ```
/// use raddle_measure::{Record, Summary};
/// let record = Record {
///     bench: "alive".into(),
///     runtime: "raddle".into(),
///     workers: 1,
///     unit: "ns".into(),
///     rounds: vec![Some(2.0), None, Some(1.0), Some(3.0)],
///     strangers: vec![Some(0.0), None, Some(0.05), Some(0.01)],
///     repeated: 2,
///     noisy: 1,
///     summary: Summary::of(&[2.0, 1.0, 3.0]).unwrap(),
///     ratios: vec![("t2_t1_worst".into(), 1.5)],
///     params: vec![("count".into(), "1000".into()), ("metric".into(), "join_ns".into())],
/// };
/// let json = record.to_json();
/// assert_eq!((json["median"].as_f64(), json["max"].as_f64(), json["runs"].as_u64()), (Some(2.0), Some(3.0), Some(3)));
/// assert_eq!((json["rounds"][1].as_f64(), json["rounds"][3].as_f64()), (None, Some(3.0)));
/// assert_eq!(json["t2_t1_worst"].as_f64(), Some(1.5));
/// assert_eq!(json["params"]["count"].as_u64(), Some(1000));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Name of the benchmark.
    pub bench: String,
    /// Name of the runtime that ran it.
    pub runtime: String,
    /// Workers that it had.
    pub workers: usize,
    /// Unit of median, min and max.
    pub unit: String,
    /// The figure of each round, `None` for one that failed.
    pub rounds: Vec<Option<f64>>,
    /// How many cores strangers kept busy during each round, where that is known.
    pub strangers: Vec<Option<f64>>,
    /// Runs that were repeated, and do not count, since strangers took too much during them.
    pub repeated: usize,
    /// Runs that do count though strangers took too much during them.
    pub noisy: usize,
    /// The figures in short; `max` is the worst.
    pub summary: Summary,
    /// Ratios to other cells, by name.
    pub ratios: Vec<(String, f64)>,
    /// Parameters; a side figure has one named `metric`. Whole numbers become JSON numbers.
    pub params: Vec<(String, String)>,
}

impl Record {
    /// The record as a JSON object with the keys `bench runtime workers unit median min max runs rounds strangers
    /// repeated noisy params`, and one for each ratio.
    pub fn to_json(&self) -> Value {
        let value = |text: &str| text.parse::<u64>().map_or_else(|_| json!(text), |number| json!(number));
        let params: Map<String, Value> = self.params.iter().map(|(k, v)| (k.clone(), value(v))).collect();
        let Summary { median, min, max, mad: _, runs } = self.summary;
        let mut object = json!({
            "bench": self.bench, "runtime": self.runtime, "workers": self.workers, "unit": self.unit,
            "median": median, "min": min, "max": max, "runs": runs, "rounds": self.rounds,
            "strangers": self.strangers, "repeated": self.repeated, "noisy": self.noisy, "params": params,
        });
        for (name, ratio) in &self.ratios {
            object[name] = json!(ratio);
        }
        object
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_keys_are_those_that_readers_rely_on() {
        let summary = Summary::of(&[1.0]).unwrap();
        let (bench, runtime, unit) = ("yield2".into(), "go".into(), "ns".into());
        let (rounds, strangers, ratios) = (vec![Some(1.0)], vec![None], vec![]);
        let (repeated, noisy, params) = (0, 0, vec![]);
        let record = Record {
            bench,
            runtime,
            workers: 2,
            unit,
            rounds,
            strangers,
            repeated,
            noisy,
            summary,
            ratios,
            params,
        };
        let json = record.to_json();
        let mut keys: Vec<&String> = json.as_object().unwrap().keys().collect();
        keys.sort_unstable();
        let figures = ["max", "median", "min", "noisy", "params", "repeated", "rounds", "runs"];
        let (before, after) = (["bench"], ["runtime", "strangers", "unit", "workers"]);
        assert_eq!(keys, [&before[..], &figures, &after].concat());
    }
}
