//! Owns: one measured figure with its side figures, and its form as a line of JSON.
//! May use: `stats`, `serde_json`.
//! Never: the clock; a sample is made by a [`crate::Plan`] or by a program that has its own way to measure.
//!
//! The line is the whole protocol between a benchmark program, in whatever language, and the runner:
//! `{"ns_per_op":12.5,"checksum":"499500","extra":{"p99":40.0}}`. The checksum is a string, since JSON numbers
//! are doubles to most readers and a checksum uses all of its 64 bits.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::stats::median;

/// One sample: what an operation cost, what came out, and side figures by name.
///
/// ```
/// use raddle_measure::Sample;
/// let sample = Sample::new(12.5, 499_500).with("p99", 40.0);
/// let line = sample.to_json_line();
/// assert_eq!(Sample::from_json_line(&line).unwrap(), sample);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Cost of one operation, in the unit of the benchmark (nanoseconds unless it says otherwise).
    pub ns_per_op: f64,
    /// What the program computed; a wrong one makes the sample worthless.
    pub checksum: u64,
    /// Side figures by name, each in the unit that the benchmark gives it.
    pub extra: BTreeMap<String, f64>,
}

impl Sample {
    /// A sample without side figures.
    pub fn new(ns_per_op: f64, checksum: u64) -> Self {
        Sample { ns_per_op, checksum, extra: BTreeMap::new() }
    }

    /// The same sample with one more side figure.
    #[must_use]
    pub fn with(mut self, name: &str, value: f64) -> Self {
        self.extra.insert(name.to_owned(), value);
        self
    }

    /// The figure called `metric`; the empty name is the main one.
    pub fn metric(&self, metric: &str) -> Option<f64> {
        if metric.is_empty() { Some(self.ns_per_op) } else { self.extra.get(metric).copied() }
    }

    /// The line that a program prints for this sample, without the newline.
    pub fn to_json_line(&self) -> String {
        let extra: Map<String, Value> = self.extra.iter().map(|(k, v)| (k.clone(), json!(v))).collect();
        json!({ "ns_per_op": self.ns_per_op, "checksum": self.checksum.to_string(), "extra": extra })
            .to_string()
    }

    /// Reads a line that a program printed.
    ///
    /// # Errors
    /// A sentence that says which field is missing or malformed, and the line.
    pub fn from_json_line(line: &str) -> Result<Self, String> {
        let value: Value = serde_json::from_str(line).map_err(|e| format!("not JSON ({e}): {line}"))?;
        let ns_per_op = finite(&value["ns_per_op"]).ok_or_else(|| format!("no finite ns_per_op: {line}"))?;
        let checksum = value["checksum"]
            .as_str()
            .and_then(|text| text.parse().ok())
            .ok_or_else(|| format!("no checksum (a decimal string): {line}"))?;
        let mut extra = BTreeMap::new();
        for (name, figure) in value["extra"].as_object().into_iter().flatten() {
            let figure = finite(figure).ok_or_else(|| format!("extra {name} is no finite number: {line}"))?;
            extra.insert(name.clone(), figure);
        }
        Ok(Sample { ns_per_op, checksum, extra })
    }

    /// One sample for several of the same process: the median of each figure.
    ///
    /// # Errors
    /// When there is none, or when the checksums differ.
    pub fn median_of(samples: &[Sample]) -> Result<Sample, String> {
        let first = samples.first().ok_or("no sample at all")?;
        if let Some(other) = samples.iter().find(|s| s.checksum != first.checksum) {
            return Err(format!(
                "checksums differ within a process: {} and {}",
                first.checksum, other.checksum
            ));
        }
        let of = |metric: &str| median(&samples.iter().filter_map(|s| s.metric(metric)).collect::<Vec<_>>());
        let extra = first.extra.keys().filter_map(|name| Some((name.clone(), of(name)?))).collect();
        Ok(Sample { ns_per_op: of("").ok_or("no figure")?, checksum: first.checksum, extra })
    }
}

fn finite(value: &Value) -> Option<f64> {
    value.as_f64().filter(|figure| figure.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(line: &str, part: &str) {
        let error = Sample::from_json_line(line).unwrap_err();
        assert!(error.contains(part), "{error:?} does not mention {part:?}");
    }

    #[test]
    fn a_checksum_keeps_all_its_bits() {
        let sample = Sample::new(1.0, u64::MAX);
        assert_eq!(Sample::from_json_line(&sample.to_json_line()).unwrap().checksum, u64::MAX);
    }

    #[test]
    fn malformed_lines_are_refused_by_name() {
        refused("hello", "not JSON");
        refused(r#"{"checksum":"1"}"#, "ns_per_op");
        refused(r#"{"ns_per_op":1.0,"checksum":1}"#, "checksum");
        refused(r#"{"ns_per_op":1.0,"checksum":"1","extra":{"p99":"x"}}"#, "p99");
    }

    #[test]
    fn the_median_of_samples_is_taken_figure_by_figure() {
        let samples = [
            Sample::new(3.0, 7).with("p99", 10.0),
            Sample::new(1.0, 7).with("p99", 30.0),
            Sample::new(2.0, 7).with("p99", 20.0),
        ];
        assert_eq!(Sample::median_of(&samples).unwrap(), Sample::new(2.0, 7).with("p99", 20.0));
    }

    #[test]
    fn differing_checksums_are_refused() {
        assert!(Sample::median_of(&[Sample::new(1.0, 7), Sample::new(1.0, 8)]).is_err());
        assert!(Sample::median_of(&[]).is_err());
    }
}
