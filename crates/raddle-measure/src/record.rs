//! Owns: one row of the raw results, as JSON.
//! May use: `stats`, `serde_json`.
//! Never: a figure that is not in the samples.

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
///     summary: Summary::of(&[2.0, 1.0, 3.0]).unwrap(),
///     params: vec![("count".into(), "1000".into()), ("metric".into(), "join_ns".into())],
/// };
/// let json = record.to_json();
/// assert_eq!((json["median"].as_f64(), json["runs"].as_u64()), (Some(2.0), Some(3)));
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
    /// The figures.
    pub summary: Summary,
    /// Parameters; a side figure has one named `metric`. Whole numbers become JSON numbers.
    pub params: Vec<(String, String)>,
}

impl Record {
    /// The record as a JSON object with the keys `bench runtime workers unit median min max runs params`.
    pub fn to_json(&self) -> Value {
        let value = |text: &str| text.parse::<u64>().map_or_else(|_| json!(text), |number| json!(number));
        let params: Map<String, Value> = self.params.iter().map(|(k, v)| (k.clone(), value(v))).collect();
        let Summary { median, min, max, mad: _, runs } = self.summary;
        json!({
            "bench": self.bench, "runtime": self.runtime, "workers": self.workers, "unit": self.unit,
            "median": median, "min": min, "max": max, "runs": runs, "params": params,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_keys_are_those_that_readers_rely_on() {
        let summary = Summary::of(&[1.0]).unwrap();
        let (bench, runtime, unit) = ("yield2".into(), "go".into(), "ns".into());
        let json = Record { bench, runtime, workers: 2, unit, summary, params: vec![] }.to_json();
        let mut keys: Vec<&String> = json.as_object().unwrap().keys().collect();
        keys.sort_unstable();
        assert_eq!(keys, ["bench", "max", "median", "min", "params", "runs", "runtime", "unit", "workers"]);
    }
}
