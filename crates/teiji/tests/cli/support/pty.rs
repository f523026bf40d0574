// SPDX-License-Identifier: MIT OR Apache-2.0
//! A terminal, seen from the side of whoever sits before it.

use super::screen::Screen;
use super::{Output, Running, TEIJI, TestFolder, soon};
use rustix::io::Errno;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};
use std::fs::OpenOptions;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;

/// The usual terminal.
pub const COLUMNS: u16 = 80;
const ROWS: u16 = 24;
/// No terminal here is wider.
const WIDEST: u16 = 200;

/// The program on a terminal of its own. Dropping it closes the terminal, before it ends the
/// program.
pub struct OnTerminal {
    screen: OwnedFd,
    pub running: Running,
    /// All that was written to the terminal.
    pub transcript: Vec<u8>,
}

fn resize(screen: &OwnedFd, ws_col: u16, ws_row: u16) {
    tcsetwinsize(screen, Winsize { ws_row, ws_col, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
}

impl OnTerminal {
    /// Starts the program as the leader of a session that the terminal controls, as a shell's
    /// window does.
    pub fn start(place: &TestFolder, words: &str) -> Self {
        Self::start_with(place, words, false)
    }

    /// The same, for a user who wants colour or declines it.
    pub fn start_with(place: &TestFolder, words: &str, colour: bool) -> Self {
        Self::started(place, TEIJI, words, colour)
    }

    /// Another program, which starts ours.
    pub fn start_program(place: &TestFolder, program: &str, words: &str) -> Self {
        Self::started(place, program, words, false)
    }

    fn started(place: &TestFolder, program: &str, words: &str, colour: bool) -> Self {
        // Not inherited by anybody: the terminal is closed when this side of it is.
        let screen =
            openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&screen).unwrap();
        unlockpt(&screen).unwrap();
        resize(&screen, COLUMNS, ROWS);
        rustix::io::ioctl_fionbio(&screen, true).unwrap();
        let name = ptsname(&screen, Vec::new()).unwrap();
        let terminal = OpenOptions::new()
            .read(true)
            .write(true)
            .open(std::ffi::OsStr::from_bytes(name.as_bytes()))
            .unwrap();
        let mut command = place.command("setsid");
        command.env("TERM", "xterm").env("NO_COLOR", if colour { "" } else { "1" });
        command.args(["--ctty", program]).args(words.split_whitespace());
        command
            .stdin(terminal.try_clone().unwrap())
            .stdout(terminal.try_clone().unwrap())
            .stderr(terminal);
        OnTerminal { screen, running: Running::start_as_is(command), transcript: Vec::new() }
    }

    /// Gives the terminal another size.
    pub fn resize(&self, columns: u16, rows: u16) {
        resize(&self.screen, columns, rows);
    }

    /// Whether keys come line by line and are seen, as a shell has it.
    pub fn is_as_usual(&self) -> bool {
        let usual = LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG;
        tcgetattr(&self.screen).unwrap().local_modes.contains(usual)
    }

    /// Reads what has been written.
    pub fn look(&mut self) {
        let mut bytes = [0; 4096];
        loop {
            match rustix::io::read(&self.screen, &mut bytes) {
                // EIO: nobody has the other side open any more.
                Ok(0) | Err(Errno::AGAIN | Errno::IO) => return,
                Ok(read) => self.transcript.extend_from_slice(&bytes[..read]),
                Err(error) => panic!("cannot read the terminal: {error}"),
            }
        }
    }

    /// Looks until this has been written.
    pub fn look_until(&mut self, text: &str) {
        soon(&format!("{text} is on the terminal"), || {
            self.look();
            self.text().contains(text)
        });
    }

    /// Looks until this can be read on the screen, however it was written; that screen.
    pub fn look_until_shown(&mut self, text: &str) -> String {
        let mut shown = String::new();
        soon(&format!("{text} is on the screen"), || {
            self.look();
            let transcript = self.text();
            // Half a sequence at its end is read next time.
            let half = transcript.rfind('\x1b').filter(|begin| {
                !transcript[begin + 1..].contains(|c: char| c.is_ascii_alphabetic())
            });
            let mut screen = Screen::new(WIDEST);
            screen.show(&transcript[..half.unwrap_or(transcript.len())]);
            shown = screen.text();
            shown.contains(text)
        });
        shown
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.transcript).into_owned()
    }

    /// Presses keys.
    pub fn press(&self, keys: &[u8]) {
        assert_eq!(rustix::io::write(&self.screen, keys), Ok(keys.len()));
    }

    /// Looks on until the program ends; gives its exit code and all that was written.
    pub fn end(mut self) -> (Option<i32>, String) {
        soon("the program has ended", || {
            self.look();
            !self.running.runs()
        });
        self.look();
        let text = self.text();
        (self.running.end().code, text)
    }

    /// Closes the terminal, and waits for the program's end.
    pub fn close(self) -> Output {
        let OnTerminal { screen, running, .. } = self;
        drop(screen);
        running.end()
    }
}
