// SPDX-License-Identifier: MIT OR Apache-2.0
//! What stands on a terminal's screen after all that was written to it: only so can one say that a
//! drawing was replaced or removed. Knows the few sequences the program uses, and fails at any
//! other.

/// A screen of some width that never scrolls.
pub struct Screen {
    columns: usize,
    lines: Vec<Vec<char>>,
    row: usize,
    column: usize,
    /// What stood there when a program took all of it.
    before: Vec<Vec<char>>,
}

impl Screen {
    pub fn new(columns: u16) -> Self {
        let (columns, lines) = (usize::from(columns), vec![Vec::new()]);
        Screen { columns, lines, row: 0, column: 0, before: Vec::new() }
    }

    /// Shows a text; every sequence in it has to be whole.
    pub fn show(&mut self, text: &str) {
        let mut letters = text.chars();
        while let Some(letter) = letters.next() {
            match letter {
                '\r' => self.column = 0,
                '\n' => self.down(),
                '\x1b' => {
                    assert_eq!(letters.next(), Some('['), "a sequence the program should not use");
                    let rest = letters.as_str();
                    let end =
                        rest.find(|c: char| c.is_ascii_alphabetic()).expect("a whole sequence");
                    self.obey(&rest[..end], rest[end..].chars().next().unwrap());
                    letters = rest[end + 1..].chars();
                }
                letter => self.put(letter),
            }
        }
    }

    fn down(&mut self) {
        self.row += 1;
        if self.row == self.lines.len() {
            self.lines.push(Vec::new());
        }
    }

    fn put(&mut self, letter: char) {
        if self.column == self.columns {
            self.column = 0;
            self.down();
        }
        let line = &mut self.lines[self.row];
        if line.len() <= self.column {
            line.resize(self.column + 1, ' ');
        }
        line[self.column] = letter;
        self.column += 1;
    }

    fn obey(&mut self, parameter: &str, what: char) {
        match what {
            'A' => self.row = self.row.saturating_sub(parameter.parse().unwrap_or(1)),
            'K' if parameter.is_empty() => self.lines[self.row].truncate(self.column),
            'J' if parameter.is_empty() => {
                self.lines[self.row].truncate(self.column);
                self.lines.truncate(self.row + 1);
            }
            'J' if parameter == "2" => self.lines = vec![Vec::new(); self.row + 1],
            'H' => {
                let (row, column) = parameter.split_once(';').unwrap_or(("1", "1"));
                let before = |place: &str| place.parse::<usize>().expect("a place") - 1;
                (self.row, self.column) = (before(row), before(column));
                self.lines.resize(self.lines.len().max(self.row + 1), Vec::new());
            }
            'h' if parameter == "?1049" => self.before = self.lines.clone(),
            'l' if parameter == "?1049" => {
                self.lines = std::mem::take(&mut self.before);
                self.row = self.lines.len() - 1;
            }
            // Neither colour nor a cursor is read.
            'm' => {}
            'h' | 'l' if parameter == "?25" => {}
            _ => panic!("a sequence the program should not use: {parameter}{what}"),
        }
    }

    /// What can be read on it.
    pub fn text(&self) -> String {
        let lines =
            self.lines.iter().map(|line| line.iter().collect::<String>().trim_end().to_owned());
        lines.collect::<Vec<_>>().join("\n")
    }
}
