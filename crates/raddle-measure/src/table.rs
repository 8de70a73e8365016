//! Owns: results for people: aligned columns, figures with as many digits as they deserve.
//! May use: nothing.
//! Never: the terminal; a table is text.

use std::fmt::{self, Display, Formatter};

/// A table of text whose columns are as wide as their widest cell. The first column leans left, as does a column
/// whose title ends in a space.
///
/// ```
/// use raddle_measure::table::Table;
/// let mut table = Table::new(["runtime", "ns"]);
/// table.row(["raddle", "3.1"]).row(["go", "79.0"]);
/// assert_eq!(table.to_string(), "runtime    ns\nraddle    3.1\ngo       79.0\n");
/// ```
#[derive(Clone, Debug, Default)]
pub struct Table {
    titles: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// An empty table with these column titles.
    pub fn new<T: Into<String>>(titles: impl IntoIterator<Item = T>) -> Self {
        Table { titles: titles.into_iter().map(Into::into).collect(), rows: Vec::new() }
    }

    /// Adds a row; missing cells stay empty, surplus ones are dropped.
    pub fn row<T: Into<String>>(&mut self, cells: impl IntoIterator<Item = T>) -> &mut Self {
        let mut row: Vec<String> = cells.into_iter().map(Into::into).collect();
        row.resize(self.titles.len(), String::new());
        self.rows.push(row);
        self
    }

    /// Whether it has no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

impl Display for Table {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let lines = || std::iter::once(&self.titles).chain(&self.rows);
        let width = |column: usize| {
            lines().map(|line| line[column].trim_end().chars().count()).max().unwrap_or_default()
        };
        let widths: Vec<usize> = (0..self.titles.len()).map(width).collect();
        for line in lines() {
            let mut text = String::new();
            for (column, cell) in line.iter().enumerate() {
                let (cell, width) = (cell.trim_end(), widths[column]);
                let gap = if column == 0 { "" } else { "  " };
                text += &match column == 0 || self.titles[column].ends_with(' ') {
                    true => format!("{gap}{cell:<width$}"),
                    false => format!("{gap}{cell:>width$}"),
                };
            }
            writeln!(f, "{}", text.trim_end())?;
        }
        Ok(())
    }
}

/// A figure with three significant digits, never in exponents.
///
/// ```
/// use raddle_measure::table::figure;
/// assert_eq!([figure(0.0123), figure(3.14159), figure(79.0), figure(14_410.0)], ["0.0123", "3.14", "79.0", "14410"]);
/// assert_eq!([figure(0.0), figure(999.96)], ["0.00", "1000"]);
/// ```
pub fn figure(value: f64) -> String {
    let magnitude = value.abs();
    let digits = match magnitude {
        _ if magnitude == 0.0 => 2,
        _ if magnitude >= 99.95 => 0,
        _ if magnitude >= 9.995 => 1,
        _ if magnitude >= 0.9995 => 2,
        _ => (2.0 - magnitude.log10().floor()).min(6.0) as usize,
    };
    format!("{value:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_whose_title_ends_in_a_space_lean_left() {
        let mut table = Table::new(["a", "b ", "c"]);
        table.row(["x", "y", "zz"]).row(["x", "yyy"]);
        assert_eq!(table.to_string(), "a  b     c\nx  y    zz\nx  yyy\n");
    }

    #[test]
    fn small_figures_keep_three_digits() {
        assert_eq!([figure(0.15), figure(0.999), figure(-2.5)], ["0.150", "0.999", "-2.50"]);
        assert_eq!(figure(0.000_000_12), "0.000000");
    }
}
