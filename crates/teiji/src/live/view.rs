// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a sheet is drawn on a screen of any size, and what keys change of that. Pure: a sheet and
//! keys in, cells out.

use super::sheet::{Charts, Sheet};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Color, Modifier, Style};
use ratatui_core::terminal::Frame;
use stats::Histogram;
use std::collections::VecDeque;

/// What the terminal can show.
#[derive(Clone, Copy, Debug)]
pub struct Looks {
    /// No letters beyond ASCII.
    pub ascii: bool,
    pub colour: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    Quit,
    Pause,
    Scale,
    Next,
    Previous,
}

/// Bytes from a terminal become keys; a sequence may come in parts.
#[derive(Debug, Default)]
pub struct Keys {
    /// Of a sequence, how much has come.
    begun: Begun,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Begun {
    #[default]
    Nothing,
    Escape,
    Sequence,
}

impl Keys {
    pub fn read(&mut self, byte: u8) -> Option<Key> {
        let begun = std::mem::take(&mut self.begun);
        match (begun, byte) {
            (_, 0x1b) => self.begun = Begun::Escape,
            (Begun::Escape, b'[' | b'O') => self.begun = Begun::Sequence,
            (Begun::Sequence, b'A' | b'D') => return Some(Key::Previous),
            (Begun::Sequence, b'B' | b'C') => return Some(Key::Next),
            // Its parameters.
            (Begun::Sequence, b'0'..=b'?') => self.begun = Begun::Sequence,
            (Begun::Sequence, _) => {}
            (_, b'q' | b'Q') => return Some(Key::Quit),
            (_, b'p' | b'P' | b' ') => return Some(Key::Pause),
            (_, b's' | b'S') => return Some(Key::Scale),
            (_, b't' | b'\t') => return Some(Key::Next),
            (_, b'T') => return Some(Key::Previous),
            _ => {}
        }
        None
    }
}

/// What is shown, and how.
pub struct View {
    looks: Looks,
    sheet: Option<Sheet>,
    /// What was said for good, the newest line first.
    said: VecDeque<String>,
    /// Sheets that come are not shown.
    is_paused: bool,
    /// Counts and latencies over time on linear axes.
    is_linear: bool,
    /// The row whose charts are shown; none for all of them.
    chosen: Option<usize>,
    /// The end was asked for.
    pub is_ending: bool,
}

/// Lines of what was said that are kept.
const MAX_SAID: usize = 100;
const PLAIN: Style = Style::new();
/// Columns left of a chart, for its labels.
const LABELS: u16 = 9;
/// From here on charts stand side by side.
const WIDE: u16 = 120;
/// A chart's title, one row of bars, and below a histogram its axis.
const MIN_CHART: u16 = 4;
/// Bins of a histogram are no narrower, as its buckets are 1 % wide.
const MIN_BIN: f64 = 0.02;

impl View {
    pub fn new(looks: Looks) -> Self {
        View {
            looks,
            sheet: None,
            said: VecDeque::new(),
            is_paused: false,
            is_linear: false,
            chosen: None,
            is_ending: false,
        }
    }

    /// Whether it is shown.
    pub fn take(&mut self, sheet: Sheet) -> bool {
        if self.is_paused && self.sheet.is_some() {
            return false;
        }
        self.sheet = Some(sheet);
        true
    }

    /// Says something in a list that is empty otherwise. It will be said again on the terminal.
    pub fn say(&mut self, text: &str) {
        text.lines().rev().for_each(|line| self.said.push_front(format!("   {line}")));
        self.said.truncate(MAX_SAID);
    }

    pub fn press(&mut self, key: Key) {
        let rows = self.sheet.as_ref().map_or(0, |sheet| sheet.rows.len());
        match key {
            Key::Quit => self.is_ending = true,
            Key::Pause => self.is_paused = !self.is_paused,
            Key::Scale => self.is_linear = !self.is_linear,
            // All of them stand between the last and the first.
            Key::Next => {
                self.chosen =
                    self.chosen.map_or(Some(0), |row| Some(row + 1)).filter(|row| *row < rows);
            }
            Key::Previous => {
                self.chosen = self.chosen.map_or(rows.checked_sub(1), |row| row.checked_sub(1));
            }
        }
    }

    pub fn draw(&self, frame: &mut Frame<'_>) {
        let area = frame.area();
        let buffer = frame.buffer_mut();
        match &self.sheet {
            Some(sheet) => self.draw_sheet(sheet, area, buffer),
            None => text(buffer, area, 0, "starting", PLAIN),
        }
        if area.height > 1 {
            text(buffer, area, area.height - 1, &self.keys(), self.style(Modifier::REVERSED, None));
        }
        if self.looks.ascii {
            buffer.content.iter_mut().for_each(|cell| {
                if let Some(instead) = ascii(cell.symbol()) {
                    cell.set_symbol(instead);
                }
            });
        }
    }

    /// What stands by its place or its words too: nothing is said by colour alone.
    fn style(&self, modifier: Modifier, colour: Option<Color>) -> Style {
        if !self.looks.colour {
            return PLAIN;
        }
        let style = PLAIN.add_modifier(modifier);
        colour.map_or(style, |colour| style.fg(colour))
    }

    fn keys(&self) -> String {
        let of = self.sheet.as_ref().map_or("", |sheet| sheet.of);
        let state = match (self.is_ending, self.is_paused) {
            (true, _) => " ENDING",
            (false, true) => " PAUSED: the run goes on",
            (false, false) => "",
        };
        let axes = if self.is_linear { "linear" } else { "log" };
        // Without charts there is nothing to choose.
        let charts =
            if of.is_empty() { String::new() } else { format!("  s scale: {axes}  ←→ {of}") };
        format!(" q end the run  p pause{charts} {state}")
    }

    fn draw_sheet(&self, sheet: &Sheet, area: Rect, buffer: &mut Buffer) {
        let bold = self.style(Modifier::BOLD, None);
        let mut next = 0;
        let mut line = |buffer: &mut Buffer, line: &str, style: Style| {
            // The last row is the keys'.
            if next + 1 < area.height {
                text(buffer, area, next, line, style);
            }
            next += 1;
        };
        if let Some(heading) = &sheet.heading {
            line(buffer, heading, PLAIN);
        }
        let room = usize::from(area.width).saturating_sub(sheet.how_far.chars().count() + 3);
        let unit = if sheet.unit.chars().count() <= room { sheet.unit } else { "" };
        line(buffer, &format!(" {} {unit:>room$}", sheet.how_far), bold);
        line(buffer, &sheet.columns, self.style(Modifier::DIM, None));

        let free = area.height.saturating_sub(next_of(sheet) + 1);
        let list = sheet.list.as_ref().map(|(title, lines)| {
            let said = self.said.iter().filter(|_| lines.is_empty());
            (title, lines.iter().chain(said).collect::<Vec<&String>>())
        });
        let list_rows = list.as_ref().map_or(0, |(_, lines)| lines.len().max(1) + 1);
        let shares = Shares::of(sheet, list_rows, usize::from(free));
        let first = self.chosen.unwrap_or(0).saturating_sub(shares.rows.saturating_sub(1));
        for (index, row) in sheet.rows.iter().enumerate().skip(first).take(shares.rows) {
            let is_chosen = self.chosen == Some(index);
            let mark = if is_chosen { '>' } else { ' ' };
            let rest: String = row.text.chars().skip(1).collect();
            line(buffer, &format!("{mark}{rest}"), if is_chosen { bold } else { PLAIN });
        }
        for (shown, all, what) in [
            (shares.rows, sheet.rows.len(), format!("{}s", sheet.of)),
            (shares.below, sheet.below.len(), "loads".to_owned()),
        ] {
            if what == "loads" {
                for below in sheet.below.iter().take(shown) {
                    line(buffer, below, PLAIN);
                }
            }
            if shown < all {
                let more = format!("   ... and {} more {what}", all - shown);
                line(buffer, &more, self.style(Modifier::DIM, None));
            }
        }

        let list = list.filter(|_| shares.list > 0);
        let list_rows = u16::try_from(shares.list).unwrap_or(0);
        let bottom = area.height.saturating_sub(1 + list_rows);
        if let Some((title, lines)) = list {
            text(buffer, area, bottom, &format!(" {title}"), bold);
            for (row, line) in (bottom + 1..).zip(lines.into_iter().take(shares.list - 1)) {
                text(buffer, area, row, line, PLAIN);
            }
        }
        let charts = Rect::new(area.x, area.y + next, area.width, bottom.saturating_sub(next));
        self.draw_charts(sheet, charts, buffer);
    }

    fn draw_charts(&self, sheet: &Sheet, area: Rect, buffer: &mut Buffer) {
        // One row is all of them.
        let chosen = self.chosen.or_else(|| sheet.all.is_none().then_some(0));
        let (charts, name) = match chosen {
            Some(row) => {
                let row = sheet.rows.get(row);
                (
                    row.and_then(|row| row.charts.as_ref()),
                    row.map_or("", |row| &row.name).to_owned(),
                )
            }
            None => (sheet.all.as_ref(), format!("all {}s", sheet.of)),
        };
        let Some(charts) = charts else { return };
        let Some(histogram) = &charts.histogram else {
            self.draw_minute(charts, &name, area, buffer);
            return;
        };
        let Rect { x, y, width, height } = area;
        if width >= WIDE {
            let half = width / 2;
            self.draw_histogram(histogram, &name, Rect::new(x, y, half - 1, height), buffer);
            let right = Rect::new(x + half, y, width - half, height);
            self.draw_minute(charts, &name, right, buffer);
        } else if height >= 2 * MIN_CHART {
            let above = height.div_ceil(2);
            self.draw_histogram(histogram, &name, Rect::new(x, y, width, above), buffer);
            let below = Rect::new(x, y + above, width, height - above);
            self.draw_minute(charts, &name, below, buffer);
        } else {
            self.draw_histogram(histogram, &name, area, buffer);
        }
    }

    fn draw_histogram(&self, histogram: &Histogram, name: &str, area: Rect, buffer: &mut Buffer) {
        if area.height < MIN_CHART - 1 || area.width <= LABELS + 2 {
            return;
        }
        let counts = if self.is_linear { "" } else { ", logarithmic counts" };
        let title = format!(" Histogram of latencies, µs{counts}: {name}");
        text(buffer, area, 0, &title, self.style(Modifier::BOLD, None));
        let columns = usize::from(area.width - LABELS - 1);
        let Some(bins) = Bins::of(histogram, columns) else { return };
        let largest = bins.counts.iter().copied().max().unwrap_or(0).max(1);
        let height = |count: &u64| {
            if *count == 0 {
                return None;
            }
            let (count, largest) = (*count as f64, largest as f64);
            Some(if self.is_linear {
                count / largest
            } else {
                (1.0 + count).ln() / (1.0 + largest).ln()
            })
        };
        let heights: Vec<Option<f64>> = bins.counts.iter().map(height).collect();
        let bars = Rect::new(area.x + LABELS, area.y + 1, area.width - LABELS - 1, area.height - 2);
        self.draw_bars(&heights, bars, buffer);
        label(buffer, area, 1, &largest.to_string());
        let axis = area.height - 1;
        let [lower, middle, upper] =
            [bins.lower, (bins.lower * bins.upper).sqrt(), bins.upper].map(|ns| short(ns / 1e3));
        let room = columns.saturating_sub(lower.len() + upper.len());
        let line = format!("{lower}{middle:^room$}{upper}");
        text(buffer, Rect { x: area.x + LABELS, ..area }, axis, &line, PLAIN);
    }

    fn draw_minute(&self, charts: &Charts, name: &str, area: Rect, buffer: &mut Buffer) {
        if area.height < MIN_CHART - 1 || area.width <= LABELS + 2 {
            return;
        }
        let title = format!(" {}: {name}", charts.title);
        text(buffer, area, 0, &title, self.style(Modifier::BOLD, None));
        let columns = usize::from(area.width - LABELS - 1);
        let per_column = charts.steps.div_ceil(columns).max(1);
        let values: Vec<Option<f64>> = charts
            .minute
            .rchunks(per_column)
            .map(|steps| steps.iter().flatten().copied().reduce(f64::max))
            .take(columns)
            .collect();
        let known = || values.iter().flatten().copied();
        let Some(largest) = known().chain(charts.full).reduce(f64::max) else { return };
        let smallest = known().reduce(f64::min).unwrap_or(0.0);
        // A percentage has no logarithm that anybody wants.
        let base = if self.is_linear || charts.full.is_some() || smallest <= 0.0 {
            0.0
        } else {
            smallest / 2.0
        };
        let height = |value: f64| {
            if largest <= base {
                1.0
            } else if base > 0.0 {
                (value / base).ln() / (largest / base).ln()
            } else {
                value / largest
            }
        };
        // The newest is at the right, and a minute has its place from the beginning.
        let wide = charts.steps.div_ceil(per_column).min(columns);
        let mut heights: Vec<Option<f64>> = values.iter().map(|value| value.map(height)).collect();
        heights.resize(wide, None);
        heights.reverse();
        let left = area.x + LABELS;
        let bars = Rect::new(left, area.y + 1, area.width - LABELS - 1, area.height - 2);
        self.draw_bars(&heights, bars, buffer);
        if let Some(asked) = charts.asked {
            let above = as_cells((1.0 - height(asked)).clamp(0.0, 1.0) * f64::from(bars.height));
            let row = Rect { y: bars.y, width: u16::try_from(wide).unwrap_or(u16::MAX), ..bars };
            let row = Rect { height: 1, y: row.y + u16::try_from(above).unwrap_or(0), ..row };
            for column in row.columns() {
                let cell = buffer.cell_mut(column.as_position());
                if let Some(cell) = cell.filter(|cell| cell.symbol() == " ") {
                    cell.set_symbol("─");
                }
            }
        }
        label(buffer, area, 1, &short(largest));
        if area.height > 3 {
            label(buffer, area, area.height - 2, &short(base));
        }
        let line = format!("-60 s{:>room$}", "now", room = wide.saturating_sub(5));
        text(buffer, Rect { x: left, ..area }, area.height - 1, &line, PLAIN);
    }

    /// Bars from the bottom, each as high as its share; what is there is seen.
    fn draw_bars(&self, heights: &[Option<f64>], area: Rect, buffer: &mut Buffer) {
        const PARTS: [&str; 9] = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];
        let style = self.style(Modifier::empty(), Some(Color::Cyan));
        let eighths = usize::from(area.height) * 8;
        for (x, height) in (area.x..area.right()).zip(heights) {
            let Some(height) = height else { continue };
            let mut left = as_cells(height.clamp(0.0, 1.0) * eighths as f64).clamp(1, eighths);
            for y in (area.y..area.bottom()).rev() {
                let part = left.min(8);
                left -= part;
                if let (Some(cell), Some(symbol)) = (buffer.cell_mut((x, y)), PARTS.get(part)) {
                    cell.set_symbol(symbol).set_style(style);
                }
            }
        }
    }
}

/// Rows of a screen above what is shared out.
fn next_of(sheet: &Sheet) -> u16 {
    2 + u16::from(sheet.heading.is_some())
}

/// How many rows each part has.
struct Shares {
    rows: usize,
    below: usize,
    /// With its title.
    list: usize,
}

impl Shares {
    /// The charts have what is left, half of it at least.
    fn of(sheet: &Sheet, list: usize, free: usize) -> Self {
        let has_charts = sheet.rows.iter().any(|row| row.charts.is_some());
        let of = |wanted: usize, most: usize| if wanted <= most { wanted } else { most.max(2) - 1 };
        if has_charts {
            Shares {
                rows: of(sheet.rows.len(), free / 4),
                below: of(sheet.below.len(), (free / 8).max(1)),
                list: list.min(free / 4),
            }
        } else {
            let list = list.min(free / 2);
            Shares { rows: of(sheet.rows.len(), free - list), below: 0, list }
        }
    }
}

/// Counts in bins of equal width on a logarithmic axis.
struct Bins {
    counts: Vec<u64>,
    /// Of the axis, ns.
    lower: f64,
    upper: f64,
}

impl Bins {
    /// In as many columns. What woke early counts into the first.
    fn of(histogram: &Histogram, columns: usize) -> Option<Self> {
        let (mut lower, mut upper) = (f64::INFINITY, f64::NEG_INFINITY);
        for bucket in histogram.buckets() {
            lower = lower.min((bucket.lower as f64).max(1.0));
            upper = upper.max(bucket.upper as f64 + 1.0);
        }
        if lower.is_infinite() || columns == 0 {
            return None;
        }
        let upper = upper.max(lower * (1.0 + MIN_BIN));
        let span = (upper / lower).ln();
        let bins = as_cells(span / MIN_BIN).clamp(1, columns);
        let mut of_bins = vec![0_u64; bins];
        for bucket in histogram.buckets() {
            let middle = f64::midpoint(bucket.lower as f64, bucket.upper as f64).max(lower);
            let bin = as_cells((middle / lower).ln() / span * bins as f64).min(bins - 1);
            of_bins[bin] += bucket.count;
        }
        let counts = (0..columns).map(|column| of_bins[column * bins / columns]).collect();
        Some(Bins { counts, lower, upper })
    }
}

/// A number of cells or of parts of them.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a screen's, and saturating"
)]
fn as_cells(value: f64) -> usize {
    value as usize
}

/// In few letters.
fn short(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        ..100.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// One line of an area.
fn text(buffer: &mut Buffer, area: Rect, row: u16, line: &str, style: Style) {
    if row < area.height && area.x < buffer.area.right() {
        let width = usize::from(area.width);
        buffer.set_stringn(area.x, area.y + row, whole_words(line, width), width, style);
    }
}

/// As much of a line as there is room for: a figure that lacks its last digits is another one.
fn whole_words(line: &str, width: usize) -> &str {
    let Some((end, next)) = line.char_indices().nth(width) else { return line };
    let fitting = &line[..end];
    let words = fitting.rfind(' ').map(|blank| &line[..blank]);
    words.filter(|words| next != ' ' && !words.trim().is_empty()).unwrap_or(fitting)
}

/// Left of a chart's bars.
fn label(buffer: &mut Buffer, area: Rect, row: u16, label: &str) {
    let wide = usize::from(LABELS) - 1;
    text(buffer, Rect { width: LABELS - 1, ..area }, row, &format!("{label:>wide$}"), PLAIN);
}

/// What stands for a letter that a terminal lacks.
fn ascii(symbol: &str) -> Option<&'static str> {
    Some(match symbol {
        symbol if symbol.is_ascii() => return None,
        "▁" | "▂" => ".",
        "▃" | "▄" | "▅" => ":",
        "▆" | "▇" => "|",
        "█" => "#",
        "µ" => "u",
        "←" => "<",
        "→" => ">",
        "…" => "~",
        "─" => "-",
        _ => "?",
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::sheet::Row;
    use ratatui_core::backend::TestBackend;
    use ratatui_core::terminal::Terminal;

    const LOOKS: Looks = Looks { ascii: false, colour: true };

    /// Two threads: one measured 1000 latencies at 10 µs and 10 at 1 ms, the other one at 100 µs.
    fn sheet() -> Sheet {
        let charts = |latencies: &[(i64, u64)], minute: Vec<Option<f64>>| {
            let mut histogram = Histogram::default();
            latencies.iter().for_each(|(latency, count)| histogram.record_n(*latency, *count));
            let title = "Worst, µs";
            Charts { histogram: Some(histogram), title, minute, steps: 240, ..Charts::default() }
        };
        let both = [(10_000, 1_000), (1_000_000, 10), (100_000, 1)];
        let minute = vec![Some(10.0), None, Some(1_000.0)];
        Sheet {
            how_far: "[####] 00:01 of 00:02".into(),
            unit: "latency in µs",
            columns: " thread  cpu".into(),
            rows: vec![
                Row {
                    text: "      0    0".into(),
                    name: "thread 0".into(),
                    charts: Some(charts(&both[..2], minute.clone())),
                },
                Row {
                    text: "      1    1".into(),
                    name: "thread 1".into(),
                    charts: Some(charts(&both[2..], vec![Some(100.0)])),
                },
            ],
            all: Some(charts(&both, minute)),
            of: "thread",
            below: vec![" load cpu".into()],
            list: Some(("Largest".into(), vec!["first".into(), "second".into()])),
            ..Sheet::default()
        }
    }

    fn view(looks: Looks) -> View {
        let mut view = View::new(looks);
        assert!(view.take(sheet()));
        view
    }

    fn drawn(view: &View, width: u16, height: u16) -> Buffer {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| view.draw(frame)).unwrap();
        terminal.backend().buffer().clone()
    }

    fn lines(buffer: &Buffer) -> Vec<String> {
        let rows = buffer.content.chunks(usize::from(buffer.area.width));
        rows.map(|row| row.iter().map(|cell| cell.symbol()).collect::<String>())
            .map(|line| line.trim_end().to_owned())
            .collect()
    }

    #[test]
    fn a_figure_is_shown_whole_or_not_at_all() {
        let of = |width| whole_words(" thread  2588.7  3034.5", width);
        assert_eq!(
            [of(23), of(22), of(16), of(15)],
            [" thread  2588.7  3034.5", " thread  2588.7 ", " thread  2588.7 ", " thread  2588.7",]
        );
        assert_eq!([of(14), of(3), whole_words("12345", 3)], [" thread ", " th", "123"]);
    }

    #[test]
    fn a_usual_terminal() {
        let lines = lines(&drawn(&view(LOOKS), 80, 24));
        let at = |row: usize| lines[row].as_str();
        assert!(at(0).starts_with(" [####] 00:01 of 00:02 ") && at(0).ends_with(" latency in µs"));
        assert_eq!(
            lines[1..6],
            [
                " thread  cpu",
                "      0    0",
                "      1    1",
                " load cpu",
                " Histogram of latencies, µs, logarithmic counts: all threads"
            ]
        );
        // The most there is in one bin, at the left end of the axis; a tenth of it at the right.
        assert!(at(6).starts_with("    1000 █"), "{lines:#?}");
        assert!(at(11).starts_with("         █") && at(11).ends_with('█'), "{lines:#?}");
        assert!(at(12).starts_with("         10.0 ") && at(12).ends_with(" 1004"), "{lines:#?}");
        assert_eq!(at(13), " Worst, µs: all threads");
        // Four quarters of a second are a column: the newest, at the right end, has the worst.
        assert_eq!(at(14).trim_end(), format!("    1000 {:>60}", "█"));
        assert!(at(18).starts_with("     500 "), "{lines:#?}");
        assert_eq!(at(19), format!("         -60 s{:>55}", "now"));
        assert_eq!(lines[20..23], [" Largest", "first", "second"]);
        assert_eq!(at(23), " q end the run  p pause  s scale: log  ←→ thread");
    }

    #[test]
    fn a_large_terminal_has_its_charts_side_by_side() {
        let lines = lines(&drawn(&view(LOOKS), 200, 60));
        let titles: Vec<char> = lines[5].chars().collect();
        let right: String = titles[100..].iter().collect();
        assert!(lines[5].starts_with(" Histogram of latencies"), "{lines:#?}");
        assert_eq!(right, " Worst, µs: all threads");
        assert_eq!(lines[56..59], [" Largest", "first", "second"]);
        assert!(lines[55].ends_with("now"), "{lines:#?}");
    }

    #[test]
    fn a_thread_is_chosen() {
        let mut view = view(LOOKS);
        let name = |view: &View| {
            let lines = lines(&drawn(view, 80, 24));
            lines[5].rsplit(": ").next().unwrap().to_owned()
        };
        let mut names = Vec::new();
        for key in [Key::Next, Key::Next, Key::Next, Key::Previous, Key::Previous, Key::Previous] {
            view.press(key);
            names.push(name(&view));
        }
        let all = "all threads";
        assert_eq!(names, ["thread 0", "thread 1", all, "thread 1", "thread 0", all]);
        view.press(Key::Previous);
        let lines = lines(&drawn(&view, 80, 24));
        assert_eq!(lines[2..4], ["      0    0", ">     1    1"]);
        assert!(lines[6].starts_with("       1 █"), "{lines:#?}");
    }

    #[test]
    fn linear_axes() {
        let mut view = view(LOOKS);
        view.press(Key::Scale);
        let lines = lines(&drawn(&view, 80, 24));
        assert_eq!(lines[5], " Histogram of latencies, µs: all threads");
        // A hundredth of the largest is hardly there.
        assert!(lines[11].ends_with('▁'), "{lines:#?}");
        assert!(lines[18].starts_with("       0 "), "{lines:#?}");
        assert!(lines[23].contains("s scale: linear"), "{lines:#?}");
    }

    #[test]
    fn a_paused_screen_stays_as_it_is() {
        let mut view = view(LOOKS);
        view.press(Key::Pause);
        let later = Sheet { how_far: "later".into(), ..sheet() };
        assert!(!view.take(later.clone()));
        let shown = lines(&drawn(&view, 80, 24));
        assert!(shown[0].contains("00:01") && shown[23].ends_with("PAUSED: the run goes on"));
        view.press(Key::Pause);
        assert!(view.take(later));
        assert!(lines(&drawn(&view, 80, 24))[0].starts_with(" later"));
    }

    #[test]
    fn without_letters_beyond_ascii_or_colour() {
        let buffer = drawn(&view(Looks { ascii: true, colour: false }), 80, 24);
        let lines = lines(&buffer);
        assert!(lines.iter().all(|line| line.is_ascii()), "{lines:#?}");
        assert!(lines[6].starts_with("    1000 #") && lines[0].ends_with("latency in us"));
        assert!(!lines.concat().contains('?'), "{lines:#?}");
        let plain = |cell: &ratatui_core::buffer::Cell| {
            (cell.fg, cell.bg, cell.modifier) == (Color::Reset, Color::Reset, Modifier::empty())
        };
        assert!(buffer.content.iter().all(plain));
        assert!(!drawn(&view(LOOKS), 80, 24).content.iter().all(plain));
    }

    /// A line at half of the chart, behind the bars.
    #[test]
    fn what_was_asked_for_of_a_load() {
        let charts = Charts {
            title: "CPU use",
            minute: vec![Some(100.0), Some(10.0)],
            steps: 60,
            full: Some(100.0),
            asked: Some(50.0),
            ..Charts::default()
        };
        let row = Row { text: " cpu".into(), name: "cpu@50%".into(), charts: Some(charts) };
        let mut view = View::new(LOOKS);
        view.take(Sheet { rows: vec![row], of: "load", ..Sheet::default() });
        let lines = lines(&drawn(&view, 80, 24));
        assert_eq!(lines[3], " CPU use: cpu@50%");
        assert_eq!(lines[4], format!("     100 {:>59}", "█"));
        assert_eq!(lines[13], format!("         {}█─", "─".repeat(58)));
        assert_eq!(lines[22], format!("         -60 s{:>55}", "now"));
    }

    /// Guests have no charts; what is said of those that have ended stands in the list.
    #[test]
    fn what_was_said_for_good() {
        let list = Some(("Not known yet".to_owned(), Vec::new()));
        let row = |name: &str| Row { text: format!("   {name}"), ..Row::default() };
        let mut view = View::new(LOOKS);
        view.take(Sheet { rows: vec![row("one"), row("two")], list, ..Sheet::default() });
        view.say("run 1 of 2\n  Worst latency 5 µs");
        view.say("run 2 of 2");
        let lines = lines(&drawn(&view, 80, 24));
        assert_eq!(lines[2..4], ["   one", "   two"]);
        let said = [" Not known yet", "   run 2 of 2", "   run 1 of 2", "     Worst latency 5 µs"];
        assert_eq!(lines[19..23], said);
        assert_eq!(lines[23], " q end the run  p pause");
    }

    /// However small or large, and whatever there is to show.
    #[test]
    fn any_size() {
        let many = Sheet {
            rows: vec![sheet().rows[0].clone(); 100],
            below: vec![" load".into(); 20],
            heading: Some("12 of 54 done".into()),
            ..sheet()
        };
        for shown in [Sheet::default(), sheet(), many] {
            let mut view = View::new(LOOKS);
            view.take(shown);
            view.press(Key::Previous);
            for width in [1, 2, 9, 12, 40, 119, 120, 300] {
                for height in [1, 2, 3, 5, 8, 13, 24, 100] {
                    drawn(&view, width, height);
                }
            }
        }
        drawn(&View::new(LOOKS), 80, 24);
    }

    /// Of more threads than there is room for, the chosen one is seen.
    #[test]
    fn many_threads() {
        let row =
            |number: usize| Row { text: format!(" thread {number}"), ..sheet().rows[0].clone() };
        let mut view = View::new(LOOKS);
        view.take(Sheet { rows: (0..64).map(row).collect(), ..sheet() });
        let lines_of = |view: &View| lines(&drawn(view, 80, 24));
        assert_eq!(lines_of(&view)[2..7].last().unwrap(), "   ... and 60 more threads");
        (0..64).for_each(|_| view.press(Key::Next));
        assert!(lines_of(&view).contains(&">thread 63".to_owned()), "{:#?}", lines_of(&view));
    }

    #[test]
    fn keys_and_their_sequences() {
        let read = |bytes: &[u8]| {
            let mut keys = Keys::default();
            bytes.iter().filter_map(|byte| keys.read(*byte)).collect::<Vec<_>>()
        };
        use Key::{Next, Pause, Previous, Quit, Scale};
        assert_eq!(read(b"qp s\tT"), [Quit, Pause, Pause, Scale, Next, Previous]);
        assert_eq!(read(b"\x1b[C\x1bOD\x1b[1;5A\x1b[B"), [Next, Previous, Previous, Next]);
        // Keys that mean nothing here, and Escape alone before one that does.
        assert_eq!(read(b"\x1b[3~\x1b[15~xyz"), []);
        assert_eq!(read(b"\x1bq"), [Quit]);
    }
}
