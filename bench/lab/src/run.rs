//! Owns: a saved run: what was measured, on which machine, by which command; and its JSON schema.
//! May use: `serde_json`, samples.
//! Never: a verdict; claims, figures and pages are made from a run, which may be old.
//!
//! The schema (`docs/LAB.md`, *The files*) has a number, [`SCHEMA`]; files of another one are refused.

use std::path::Path;

use raddle_measure::{Sample, Summary};
use serde_json::{Value, json};

/// The number of the schema.
pub const SCHEMA: u64 = 1;

/// A run of one experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    pub experiment: String,
    pub machine: String,
    pub commit: String,
    pub command: String,
    /// Seconds since 1970 when it began.
    pub begun: u64,
    /// The size: `quick`, `usual` or `full`.
    pub size: String,
    /// Whether all rounds were completed.
    pub complete: bool,
    /// Rivals that are not installed, with the reason.
    pub absent: Vec<(String, String)>,
    /// Further findings, one sentence each.
    pub notes: Vec<String>,
    pub cells: Vec<Cell>,
}

/// A runtime with a number of workers and parameters, and the result of each round.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    pub bench: String,
    pub runtime: String,
    pub workers: usize,
    pub params: String,
    pub unit: String,
    pub rounds: Vec<Option<Sample>>,
    pub failure: Option<String>,
}

impl Cell {
    /// The figures called `metric`, round by round; the main one has the empty name.
    pub fn series(&self, metric: &str) -> Vec<Option<f64>> {
        self.rounds.iter().map(|sample| sample.as_ref()?.metric(metric)).collect()
    }

    /// A summary of them.
    pub fn summary(&self, metric: &str) -> Option<Summary> {
        Summary::of(&self.series(metric).into_iter().flatten().collect::<Vec<_>>())
    }

    /// The median of the figures called `metric`.
    pub fn median(&self, metric: &str) -> Option<f64> {
        self.summary(metric).map(|summary| summary.median)
    }

    /// The parameter `name`, or nothing.
    pub fn param(&self, name: &str) -> &str {
        let find = |part: &'_ str| part.split_once('=').is_some_and(|(key, _)| key == name);
        self.params
            .split(',')
            .find(|part| find(part))
            .and_then(|part| part.split_once('='))
            .map_or("", |(_, v)| v)
    }

    /// The parameter `name` as a number, 0 if it is none.
    pub fn number(&self, name: &str) -> f64 {
        self.param(name).parse().unwrap_or(0.0)
    }

    /// Whether it has all of these parameters.
    pub fn has(&self, params: &str) -> bool {
        params
            .split(',')
            .filter(|part| !part.is_empty())
            .all(|part| self.params.split(',').any(|p| p == part))
    }

    fn to_json(&self) -> Value {
        let rounds: Vec<Value> =
            self.rounds.iter().map(|round| round.as_ref().map_or(Value::Null, sample)).collect();
        json!({
            "bench": self.bench, "runtime": self.runtime, "workers": self.workers, "params": self.params,
            "unit": self.unit, "median": self.median(""), "rounds": rounds, "failure": self.failure,
        })
    }

    fn from_json(value: &Value) -> Result<Cell, String> {
        let rounds = value["rounds"].as_array().ok_or("a cell has no `rounds`")?;
        let read = |round: &Value| match round {
            Value::Null => Ok(None),
            sample => Sample::from_json_line(&sample.to_string()).map(Some),
        };
        Ok(Cell {
            bench: text(value, "bench")?,
            runtime: text(value, "runtime")?,
            workers: value["workers"].as_u64().ok_or("a cell has no `workers`")? as usize,
            params: text(value, "params")?,
            unit: text(value, "unit")?,
            rounds: rounds.iter().map(read).collect::<Result<_, String>>()?,
            failure: value["failure"].as_str().map(str::to_owned),
        })
    }
}

fn sample(sample: &Sample) -> Value {
    serde_json::from_str(&sample.to_json_line()).unwrap_or(Value::Null)
}

fn text(value: &Value, key: &str) -> Result<String, String> {
    value[key].as_str().map(str::to_owned).ok_or_else(|| format!("`{key}` is missing, or no text"))
}

impl Run {
    /// The cells of `bench` on `runtime` that have these parameters.
    pub fn find(&self, bench: &str, runtime: &str, workers: usize, params: &str) -> Option<&Cell> {
        let fits = |cell: &&Cell| {
            cell.bench == bench && cell.runtime == runtime && cell.workers == workers && cell.has(params)
        };
        self.cells.iter().find(fits)
    }

    /// The numbers of workers that occur, in order.
    pub fn workers(&self) -> Vec<usize> {
        let mut all: Vec<usize> = self.cells.iter().map(|cell| cell.workers).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// How many rounds the cell with the most has.
    pub fn rounds(&self) -> usize {
        self.cells.iter().map(|cell| cell.rounds.len()).max().unwrap_or(0)
    }

    /// As JSON.
    pub fn to_json(&self) -> Value {
        let absent: Vec<Value> =
            self.absent.iter().map(|(runtime, why)| json!({ "runtime": runtime, "why": why })).collect();
        json!({
            "schema": SCHEMA, "experiment": self.experiment, "machine": self.machine, "commit": self.commit,
            "command": self.command, "begun": self.begun, "size": self.size, "complete": self.complete,
            "absent": absent, "notes": self.notes, "cells": self.cells.iter().map(Cell::to_json).collect::<Vec<_>>(),
        })
    }

    /// From JSON.
    ///
    /// # Errors
    /// A sentence that says what is missing.
    pub fn from_json(value: &Value) -> Result<Run, String> {
        match value["schema"].as_u64() {
            Some(SCHEMA) => {}
            Some(other) => return Err(format!("its form is number {other}; this laboratory reads {SCHEMA}")),
            None => return Err("it is no run of the laboratory: `schema` is missing".into()),
        }
        let list = |key: &str| value[key].as_array().cloned().ok_or_else(|| format!("`{key}` is missing"));
        let notes = value["notes"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let absent = |entry: &Value| Ok((text(entry, "runtime")?, text(entry, "why")?));
        Ok(Run {
            experiment: text(value, "experiment")?,
            machine: text(value, "machine")?,
            commit: text(value, "commit")?,
            command: text(value, "command")?,
            begun: value["begun"].as_u64().unwrap_or(0),
            size: text(value, "size")?,
            complete: value["complete"].as_bool().unwrap_or(false),
            absent: list("absent")?.iter().map(absent).collect::<Result<_, String>>()?,
            notes: notes.map(str::to_owned).collect(),
            cells: list("cells")?.iter().map(Cell::from_json).collect::<Result<_, String>>()?,
        })
    }

    /// Writes it as a file.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), String> {
        let text = format!("{:#}\n", self.to_json());
        std::fs::write(path, text).map_err(|e| format!("cannot write {}: {e}", path.display()))
    }

    /// Reads such a file.
    ///
    /// # Errors
    /// When it cannot be read, or is not a run.
    pub fn load(path: &Path) -> Result<Run, String> {
        let name = path.display();
        let text = std::fs::read_to_string(path).map_err(|e| format!("cannot read {name}: {e}"))?;
        let value = serde_json::from_str(&text).map_err(|e| format!("{name} is no JSON: {e}"))?;
        Run::from_json(&value).map_err(|what| format!("{name}: {what}"))
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A run with these cells: bench, runtime, workers, parameters, the figure of 15 rounds.
    pub fn run(experiment: &str, cells: &[(&str, &str, usize, &str, f64)]) -> Run {
        let cell = |&(bench, runtime, workers, params, figure): &(&str, &str, usize, &str, f64)| Cell {
            bench: bench.into(),
            runtime: runtime.into(),
            workers,
            params: params.into(),
            unit: "ns".into(),
            rounds: vec![Some(Sample::new(figure, 7)); 15],
            failure: None,
        };
        Run {
            experiment: experiment.into(),
            machine: "a machine".into(),
            commit: "abc".into(),
            command: "raddle lab".into(),
            begun: 5,
            size: "quick".into(),
            complete: true,
            absent: vec![("java".into(), "no javac".into())],
            notes: vec!["a note".into()],
            cells: cells.iter().map(cell).collect(),
        }
    }

    #[test]
    fn a_run_survives_its_file() {
        let mut run = run("ring", &[("line", "go", 2, "stages=3,messages=1", 2.5)]);
        run.cells[0].rounds.push(None);
        run.cells[0].rounds.push(Some(Sample::new(1.0, u64::MAX).with("p99", 3.0)));
        assert_eq!(Run::from_json(&run.to_json()), Ok(run));
    }

    #[test]
    fn what_is_no_run_is_refused() {
        assert!(Run::from_json(&json!({})).unwrap_err().contains("schema"));
        assert!(Run::from_json(&json!({ "schema": 9 })).unwrap_err().contains('9'));
        assert!(Run::from_json(&json!({ "schema": 1 })).unwrap_err().contains("experiment"));
    }

    #[test]
    fn parameters_are_found_by_their_whole_name() {
        let run = run("x", &[("b", "go", 1, "grain=10,rounds=5", 1.0)]);
        let cell = &run.cells[0];
        assert_eq!((cell.param("grain"), cell.param("rain"), cell.number("rounds")), ("10", "", 5.0));
        assert!(cell.has("grain=10") && !cell.has("grain=1") && cell.has(""));
    }
}
