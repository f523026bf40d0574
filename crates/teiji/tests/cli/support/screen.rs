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
}

impl Screen {
    pub fn new(columns: u16) -> Self {
        Screen { columns: usize::from(columns), lines: vec![Vec::new()], row: 0, column: 0 }
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
            // Colour is not read.
            'm' => {}
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
