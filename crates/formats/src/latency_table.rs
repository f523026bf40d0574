// SPDX-License-Identifier: MIT OR Apache-2.0
//! The table that Xenomai's `latency` prints, and programs that took its form: a heading (`RTH`), a
//! line for each second or so (`RTD`), one of all of them (`RTS`); and the cells of its histograms.

use super::numbers::{decimal, mean, whole};
use super::{ImportError, Lines, Measured, Output, Program, Stated};
use model::{Column, RowKind};

/// Cells of a histogram at most: more than any of these programs allocates.
const MAX_CELLS: usize = 1 << 20;

/// A program that prints such a table. All of them count periods that went by: as overruns.
pub(crate) const fn program(name: &'static str, measuring_point: &'static str) -> Program {
    Program {
        name,
        measuring_point,
        column: Column::ns("latency_ns", measuring_point),
        rows: RowKind::Activations,
        is_planned: true,
        passes_over: false,
        resolution_ns: 1,
    }
}

/// What such a table says.
#[derive(Default)]
pub(crate) struct LatencyTable {
    /// Of its columns, by the heading, without the strokes around them.
    names: Vec<String>,
    /// Lines of a second each, or of as long as the program takes.
    pub seconds: u64,
    sum_of_means: f64,
    min: Option<i64>,
    max: Option<i64>,
    /// The last of each further column that counts something.
    counts: Vec<(String, String)>,
    /// Of all seconds, as the last line states it.
    total: Option<(i64, f64, i64)>,
}

/// Whether the line is a heading of such a table.
pub(crate) fn is_heading(line: &str) -> bool {
    let names = names(line);
    ["lat min", "lat avg", "lat max"].iter().all(|name| names.iter().any(|known| known == name))
}

fn names(line: &str) -> Vec<String> {
    let fields = line.trim_start().strip_prefix("RTH|").unwrap_or_default().split('|');
    fields.map(|name| name.trim_matches(['-', ' ']).to_owned()).take(16).collect()
}

/// The fields of a line that begins so.
pub(crate) fn fields<'l>(line: &'l str, tag: &str) -> Option<Vec<&'l str>> {
    let rest = line.trim_start().strip_prefix(tag)?.strip_prefix('|')?;
    Some(rest.split('|').map(str::trim).take(32).collect())
}

impl LatencyTable {
    /// Whether it has its last line.
    pub(crate) const fn is_complete(&self) -> bool {
        self.total.is_some()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.seconds == 0 && self.total.is_none()
    }

    /// Whether these are the figures of its last line.
    pub(crate) fn states(&self, figures: &Stated) -> bool {
        self.total.is_some_and(|(min, mean, max)| {
            (figures.min, figures.mean, figures.max) == (Some(min), Some(mean), Some(max))
        })
    }

    /// Takes the next line if it is of the table. Its values are of this unit.
    pub(crate) fn take(
        &mut self,
        lines: &mut Lines<'_>,
        output: &mut Output,
        unit_ns: i64,
    ) -> Result<bool, ImportError> {
        let Some(line) = lines.peek()? else { return Ok(false) };
        if is_heading(line) {
            self.names = names(line);
        } else if let Some(fields) = fields(line, "RTD") {
            if self.second(&fields, unit_ns).is_none() {
                return Err(lines.error("the line of a second (RTD) is not as its heading (RTH)"));
            }
        } else if let Some(fields) = fields(line, "RTS") {
            let total = (fields.len() >= 5).then(|| of_all(&fields, unit_ns)).flatten();
            let Some(total) = total else {
                return Err(lines.error("the line of all seconds (RTS) is damaged"));
            };
            self.total = Some(total);
            let counted = fields[3..fields.len() - 1].iter().zip(["overrun", "msw"]);
            let counted = counted.map(|(count, name)| (name.to_owned(), (*count).to_owned()));
            self.counts = counted.collect();
            output.say("duration", fields[fields.len() - 1]);
        } else if !line.trim_start().starts_with("---|--") {
            return Ok(false);
        }
        lines.advance();
        Ok(true)
    }

    fn second(&mut self, fields: &[&str], unit_ns: i64) -> Option<()> {
        if fields.len() != self.names.len() {
            return None;
        }
        let at = |name: &str| self.names.iter().position(|known| known == name);
        let get = |name: &str| decimal(fields[at(name)?], unit_ns);
        let (lowest, highest) = (get("lat min")?, get("lat max")?);
        let average = mean(fields[at("lat avg")?], unit_ns)?;
        // Lines above the first that is left may have had more.
        let best = get("lat best").or_else(|| get("ovl min")).unwrap_or(lowest).min(lowest);
        let worst = get("lat worst").or_else(|| get("ovl max")).unwrap_or(highest).max(highest);
        let counting = ["overrun", "overruns", "msw", "jit fast", "jit slow"];
        let counts = self.names.iter().zip(fields);
        let counts = counts.filter(|(name, _)| counting.contains(&name.as_str()));
        self.counts = counts.map(|(name, count)| (name.clone(), (*count).to_owned())).collect();
        self.min = Some(self.min.map_or(best, |min| min.min(best)));
        self.max = Some(self.max.map_or(worst, |max| max.max(worst)));
        self.sum_of_means += average;
        self.seconds += 1;
        Some(())
    }

    /// Puts its figures into the thread: those of all seconds, or where that line is lacking those
    /// that follow from the seconds there are, which are equally long.
    pub(crate) fn put(&self, output: &mut Output) -> Result<(), ImportError> {
        for (name, count) in &self.counts {
            output.say(name, count);
        }
        let (min, mean, max) = match (self.total, self.min, self.max) {
            (Some(total), _, _) => total,
            (None, Some(min), Some(max)) => (min, self.sum_of_means / self.seconds as f64, max),
            _ => return Ok(()),
        };
        for (name, of_all, of_lines) in [("min", Some(min), self.min), ("max", Some(max), self.max)]
        {
            let is_beyond = |found: &i64| if name == "min" { *found < min } else { *found > max };
            if let (Some(stated), Some(found)) = (of_all, of_lines.filter(is_beyond)) {
                output.contradiction(format!("RTS: lat {name}, ns"), stated, found);
            }
        }
        let thread = output.thread(0)?;
        let count = thread.stated.count;
        let (min, max) = (Some(self.min.map_or(min, |of| of.min(min))), self.max.max(Some(max)));
        thread.stated = Stated { count, min, mean: Some(mean), max, ..Stated::default() };
        Ok(())
    }

    /// Says how many samples there are at least, where nothing else does: as many as each line is
    /// of.
    pub(crate) fn count(&self, output: &mut Output, line_ns: Option<i64>) {
        if output.threads.first().is_some_and(|thread| thread.stated.count.is_some()) {
            return;
        }
        output.is_of_unknown_count = true;
        let each = line_ns.zip(output.interval).and_then(|(ns, period)| ns.checked_div(period.0));
        let each = each.and_then(|each| u64::try_from(each).ok());
        if let (Some(each), Some(thread)) = (each, output.threads.first_mut()) {
            thread.stated.count = Some(each.saturating_mul(self.seconds)).filter(|n| *n > 1);
        }
    }
}

/// The smallest, the mean and the largest.
fn of_all(fields: &[&str], unit_ns: i64) -> Option<(i64, f64, i64)> {
    Some((decimal(fields[0], unit_ns)?, mean(fields[1], unit_ns)?, decimal(fields[2], unit_ns)?))
}

/// A histogram of how large latencies are without their sign. The last cell that the program has
/// holds all that is larger, too.
#[derive(Default)]
pub(crate) struct Cells {
    pub width_ns: i64,
    /// By the number of the cell, which go up.
    counts: Vec<(i64, u64)>,
    /// Whether the last is said to hold all that is larger.
    pub has_more: bool,
}

impl Cells {
    pub(crate) fn of(width_ns: i64) -> Cells {
        Cells { width_ns, ..Cells::default() }
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// Adds the cell of this number.
    pub(crate) fn add(&mut self, cell: i64, count: u64) -> Result<(), &'static str> {
        if self.counts.last().is_some_and(|(last, _)| *last >= cell) {
            return Err("the cell does not follow the one above");
        }
        if self.counts.len() >= MAX_CELLS {
            return Err("no histogram has so many cells");
        }
        if count > 0 {
            self.counts.push((cell, count));
        }
        Ok(())
    }

    pub(crate) fn total(&self) -> u64 {
        self.counts.iter().fold(0, |sum, (_, count)| sum.saturating_add(*count))
    }

    /// Whether cells of this width may be of latencies that come to these figures. Those of a
    /// second that was not ended are in cells alone.
    pub(crate) fn fit(&self, stated: &Stated) -> bool {
        let (Some((first, _)), Some((last, above))) = (self.counts.first(), self.counts.last())
        else {
            return false;
        };
        let (Some(min), Some(mean), Some(max)) = (stated.min, stated.mean, stated.max) else {
            return false;
        };
        let (width, all) = (self.width_ns as f64, self.total() as f64);
        let sum = |(cell, count): &(i64, u64)| *cell as f64 * *count as f64;
        let lowest = self.counts.iter().map(sum).sum::<f64>() * width / all;
        let last = (*last as f64 + 1.0) * width;
        let more = (max as f64 - last).max(0.0) * *above as f64 / all;
        let is_above = min < 0 || (*first as f64 * width <= min as f64 && lowest - width <= mean);
        is_above && mean <= lowest + 2.0 * width + more
    }

    /// Puts them into the thread, which has its figures. Negative latencies are not known from
    /// others that are as large: the cells that may hold some become one range.
    pub(crate) fn put(&self, thread: &mut Measured) -> Result<bool, &'static str> {
        let (Some(min), Some(max)) = (thread.stated.min, thread.stated.max) else {
            return Err("nothing says whether latencies were negative, which the cells do not");
        };
        let width = self.width_ns.max(1);
        let folded = if min < 0 { min.saturating_neg() / width } else { -1 };
        let begin = |cell: i64| cell.checked_mul(width).ok_or("no latency is so large");
        let last = self.counts.last().map_or(0, |(cell, _)| *cell);
        let has_more = self.has_more || max >= begin(last.saturating_add(1))?;
        let (mut in_one, mut upper) = (0_u64, begin(folded.saturating_add(1))? - 1);
        for (cell, count) in &self.counts {
            if *cell <= folded {
                in_one = in_one.saturating_add(*count);
                upper = if *cell == last && has_more { upper.max(max) } else { upper };
            } else if *cell == last && has_more {
                thread.beyond = Some((*count, begin(*cell)?));
            } else {
                thread.range(begin(*cell)?, begin(cell.saturating_add(1))? - 1, *count);
            }
        }
        thread.range(min, upper, in_one);
        Ok(in_one > 0)
    }
}

/// A time of day or a length, `00:00:05`.
pub(crate) fn is_time(text: &str) -> bool {
    let mut parts = text.split(':');
    parts.clone().count() == 3 && parts.all(|part| part.len() >= 2 && whole(part).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_of_several_programs() {
        for line in [
            "RTH|----lat min|----lat avg|----lat max|-overrun|---msw|---lat best|--lat worst",
            "RTH|-----lat min|-----lat avg|-----lat max|-overrun|----lat best|---lat worst",
            "RTH|    lat min|    ovl min|    lat avg|    lat max|    ovl max|   overruns",
        ] {
            assert!(is_heading(line), "{line}");
        }
        assert!(!is_heading("RTH|---------cpu|ctx switches|-------total"));
        assert!(is_time("00:00:05") && !is_time("00:05") && !is_time("a:b:c"));
    }

    #[test]
    fn cells_without_signs_are_one_range_as_far_as_some_were_negative() {
        let mut cells = Cells::of(1_000);
        for (cell, count) in [(0, 4), (1, 3), (2, 2), (5, 1)] {
            cells.add(cell, count).unwrap();
        }
        assert_eq!(cells.add(5, 1), Err("the cell does not follow the one above"));
        let put = |min: i64, max: i64| {
            let mut thread = Measured::default();
            (thread.stated.min, thread.stated.max) = (Some(min), Some(max));
            let is_folded = cells.put(&mut thread).unwrap();
            let ranges = thread.buckets.iter().map(|of| (of.lower, of.upper, of.count));
            (is_folded, ranges.collect::<Vec<_>>(), thread.beyond)
        };
        let (folded, ranges, beyond) = put(-1_500, 5_200);
        assert!(folded);
        assert_eq!(ranges, [(2_000, 2_999, 2), (5_000, 5_999, 1), (-1_500, 1_999, 7)]);
        assert_eq!(beyond, None);
        let (folded, ranges, beyond) = put(10, 9_000);
        assert_eq!((folded, ranges.len(), beyond), (false, 3, Some((1, 5_000))));
        assert_eq!(put(-7_000, 9_000).1, [(-7_000, 9_000, 10)]);
    }
}
