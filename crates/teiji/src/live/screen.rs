// SPDX-License-Identifier: MIT OR Apache-2.0
//! All of a terminal while something runs, on the thread that draws: sheets come in, keys are
//! answered, and what has changed is written.

use super::sheet::Next;
use super::terminal::{self, Taken, columns, rows};
use super::view::{Key, Keys, Looks, View};
use crate::output;
use ratatui_core::backend::{Backend, ClearType, WindowSize};
use ratatui_core::buffer::Cell;
use ratatui_core::layout::{Position, Size};
use ratatui_core::style::{Color, Modifier};
use ratatui_core::terminal::Terminal;
use std::fmt::Write as _;
use std::io;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::Duration;

/// Two buffers of a large terminal are on the heap; layout and text take some.
pub const STACK_BYTES: usize = 256 * 1024;
/// Until keys, sheets and a new size are asked for again.
const WAIT: Duration = Duration::from_millis(100);

/// Draws until nothing more comes.
pub fn draw(drawings: Receiver<Next>) {
    let mut above = Vec::new();
    // A terminal that is gone ends the run by its own signal.
    let _ = draw_until_the_end(&drawings, &mut above);
    for line in above {
        output::say(&line);
    }
    // Until then nobody is to wait for room.
    drawings.into_iter().for_each(drop);
}

fn draw_until_the_end(drawings: &Receiver<Next>, above: &mut Vec<String>) -> io::Result<()> {
    let mut taken = Taken::take()?;
    let mut terminal = Terminal::new(Screen::default())?;
    let mut view = View::new(Looks { ascii: output::is_ascii(), colour: output::has_colours() });
    let mut keys = Keys::default();
    let mut size = None;
    loop {
        let mut changed = false;
        for key in taken.keys(WAIT).into_iter().filter_map(|byte| keys.read(byte)) {
            if key == Key::Quit && !view.is_ending {
                terminal::interrupt();
            }
            view.press(key);
            changed = true;
        }
        loop {
            match drawings.try_recv() {
                Ok(Next::Sheet(sheet)) => changed |= view.take(*sheet),
                Ok(Next::Above(line)) => {
                    view.say(&line);
                    above.push(line);
                    changed = true;
                }
                Ok(Next::Lines(_)) => {}
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => return Ok(()),
            }
        }
        if taken.suspend_if_asked()? {
            terminal.clear()?;
            changed = true;
        }
        let now = terminal.size()?;
        if changed || size != Some(now) {
            size = Some(now);
            terminal.draw(|frame| view.draw(frame))?;
        }
    }
}

/// What is written to the terminal, in the sequences that all terminals since the VT100 have.
#[derive(Default)]
struct Screen {
    text: String,
}

/// Between `ESC [` and `m`.
fn style_of(cell: &Cell) -> String {
    let mut codes = String::from("0");
    for (modifier, code) in
        [(Modifier::BOLD, ";1"), (Modifier::DIM, ";2"), (Modifier::REVERSED, ";7")]
    {
        codes += if cell.modifier.contains(modifier) { code } else { "" };
    }
    codes += match cell.fg {
        Color::Red => ";31",
        Color::Yellow => ";33",
        Color::Cyan => ";36",
        _ => "",
    };
    codes
}

fn letter(cell: &Cell) -> char {
    cell.symbol().chars().next().unwrap_or(' ')
}

impl Backend for Screen {
    type Error = io::Error;

    fn draw<'a, I>(&mut self, content: I) -> io::Result<()>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        let mut next = None;
        let mut style = "0".to_owned();
        for (x, y, cell) in content {
            if next != Some((x, y)) {
                let _ = write!(self.text, "\x1b[{};{}H", y + 1, x + 1);
            }
            let wanted = style_of(cell);
            if wanted != style {
                let _ = write!(self.text, "\x1b[{wanted}m");
                style = wanted;
            }
            self.text += cell.symbol();
            // Only of what is surely one column wide it is known where the next one stands.
            let is_narrow =
                cell.symbol().is_ascii() || ('\u{2580}'..='\u{2588}').contains(&letter(cell));
            next = is_narrow.then_some((x + 1, y));
        }
        if style != "0" {
            self.text += "\x1b[0m";
        }
        Ok(())
    }

    fn hide_cursor(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn show_cursor(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn get_cursor_position(&mut self) -> io::Result<Position> {
        Ok(Position::ORIGIN)
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, _: P) -> io::Result<()> {
        Ok(())
    }

    fn clear(&mut self) -> io::Result<()> {
        self.text += "\x1b[2J";
        Ok(())
    }

    /// Only all of it is ever asked for.
    fn clear_region(&mut self, _: ClearType) -> io::Result<()> {
        self.clear()
    }

    fn size(&self) -> io::Result<Size> {
        let side = |cells: usize| u16::try_from(cells).unwrap_or(u16::MAX);
        Ok(Size::new(side(columns()), side(rows())))
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        Ok(WindowSize { columns_rows: self.size()?, pixels: Size::ZERO })
    }

    fn flush(&mut self) -> io::Result<()> {
        let text = std::mem::take(&mut self.text);
        terminal::write(text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui_core::style::Style;

    /// Cells side by side need no second address, and no style is left behind.
    #[test]
    fn what_is_written_for_cells() {
        let cell = |symbol: &'static str, style: Style| {
            let mut cell = Cell::new(symbol);
            cell.set_style(style);
            cell
        };
        let bold = Style::new().add_modifier(Modifier::BOLD);
        let cells = [
            (3, 0, cell("a", Style::new())),
            (4, 0, cell("█", bold.fg(Color::Cyan))),
            (0, 9, cell("b", bold)),
        ];
        let mut screen = Screen::default();
        screen.draw(cells.iter().map(|(x, y, cell)| (*x, *y, cell))).unwrap();
        assert_eq!(screen.text, "\x1b[1;4Ha\x1b[0;1;36m█\x1b[10;1H\x1b[0;1mb\x1b[0m");
    }
}
