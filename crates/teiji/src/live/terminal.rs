// SPDX-License-Identifier: MIT OR Apache-2.0
//! The terminal on standard input and output: its size, what is written to it, and its state while
//! all of it is drawn on, which is put back whatever ends the program but SIGKILL.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Signal, getpid, kill_process};
use rustix::termios::{
    LocalModes, OptionalActions, QueueSelector, SpecialCodeIndex, Termios, Winsize, tcflush,
    tcgetattr, tcsetattr,
};
use signal_hook::consts::{SIGINT, SIGSTOP, SIGTSTP};
use signal_hook::low_level::raise;
use std::io::{self, stdin, stdout};
use std::panic::{set_hook, take_hook};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// Rows of a terminal of unknown size.
const USUAL_ROWS: u16 = 24;
/// Columns of one of unknown size.
const USUAL_COLUMNS: u16 = 80;
/// The other screen, where a terminal has one, without a cursor.
const ENTER: &str = "\x1b[?1049h\x1b[?25l\x1b[2J";
/// Nothing is left on it where a terminal has only one.
const LEAVE: &str = "\x1b[0m\x1b[2J\x1b[H\x1b[?25h\x1b[?1049l";

/// The modes to be put back, while the terminal is taken.
static TAKEN: Mutex<Option<Termios>> = Mutex::new(None);

/// Ctrl-Z: asked while the terminal is taken; at other times it is what it always is.
struct Suspending {
    asked: Arc<AtomicBool>,
    is_usual: Arc<AtomicBool>,
}

/// The terminal, to draw all of it. Dropped, it is as before.
pub struct Taken {
    suspending: &'static Suspending,
    /// Whether keys may still come.
    has_keys: bool,
}

impl Taken {
    /// Takes the terminal.
    ///
    /// # Errors
    /// When it does not let us.
    pub fn take() -> io::Result<Self> {
        let suspending = suspending()?;
        switch()?;
        suspending.is_usual.store(false, Ordering::SeqCst);
        Ok(Taken { suspending, has_keys: true })
    }

    /// Waits so long for keys: their bytes.
    pub fn keys(&mut self, time: Duration) -> Vec<u8> {
        let mut bytes = [0; 64];
        if !self.has_keys {
            std::thread::sleep(time);
            return Vec::new();
        }
        let input = stdin();
        let ready = {
            let mut polled = [PollFd::new(&input, PollFlags::IN)];
            let time = Timespec::try_from(time).ok();
            poll(&mut polled, time.as_ref())
        };
        if !matches!(ready, Ok(1..)) {
            return Vec::new();
        }
        match rustix::io::read(&input, &mut bytes) {
            Ok(0) => self.has_keys = false,
            Ok(read) => return bytes.get(..read).unwrap_or_default().to_vec(),
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(_) => self.has_keys = false,
        }
        Vec::new()
    }

    /// If Ctrl-Z was pressed: gives the terminal back, stops, and takes it again once continued.
    /// Whether it did.
    ///
    /// # Errors
    /// When the terminal is not there any more.
    pub fn suspend_if_asked(&self) -> io::Result<bool> {
        if !self.suspending.asked.swap(false, Ordering::SeqCst) {
            return Ok(false);
        }
        give_back();
        // Sent to this thread: it stops here, and does not take the terminal again before it has.
        raise(SIGSTOP)?;
        switch()?;
        Ok(true)
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.suspending.is_usual.store(true, Ordering::SeqCst);
        give_back();
    }
}

/// Ends the run as Ctrl-C does, also where that one is ignored.
pub fn interrupt() {
    let signal = if probe::ignores_signal(SIGINT) { Signal::TERM } else { Signal::INT };
    let _ = kill_process(getpid(), signal);
}

/// Handlers are there once, for all the times that a terminal is taken.
fn suspending() -> io::Result<&'static Suspending> {
    static SUSPENDING: OnceLock<Suspending> = OnceLock::new();
    if let Some(known) = SUSPENDING.get() {
        return Ok(known);
    }
    let (asked, is_usual) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(true)));
    signal_hook::flag::register(SIGTSTP, Arc::clone(&asked))?;
    signal_hook::flag::register_conditional_default(SIGTSTP, Arc::clone(&is_usual))?;
    let usual = take_hook();
    set_hook(Box::new(move |panic| {
        give_back();
        usual(panic);
    }));
    Ok(SUSPENDING.get_or_init(|| Suspending { asked, is_usual }))
}

/// Keys come at once and unseen; those of signals still send them.
fn switch() -> io::Result<()> {
    let before = tcgetattr(stdin())?;
    let mut modes = before.clone();
    modes.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
    modes.special_codes[SpecialCodeIndex::VMIN] = 0;
    modes.special_codes[SpecialCodeIndex::VTIME] = 0;
    tcsetattr(stdin(), OptionalActions::Now, &modes)?;
    *TAKEN.lock().unwrap_or_else(PoisonError::into_inner) = Some(before);
    write(ENTER.as_bytes())
}

/// As it was before. Also from a panic, in whichever thread.
fn give_back() {
    let taken = TAKEN.try_lock().ok().and_then(|mut taken| taken.take());
    let Some(before) = taken else { return };
    let _ = write(LEAVE.as_bytes());
    // Keys that nobody has read are not for the shell.
    let _ = tcflush(stdin(), QueueSelector::IFlush);
    let _ = tcsetattr(stdin(), OptionalActions::Now, &before);
}

/// Writes all of it, past what else is kept for standard output.
pub fn write(mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match rustix::io::write(stdout(), bytes) {
            Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

pub fn put(text: &str) {
    let _ = write(text.as_bytes());
}

/// Rows of the terminal.
pub fn rows() -> usize {
    size(|size| size.ws_row, USUAL_ROWS)
}

/// Columns of the terminal.
pub fn columns() -> usize {
    size(|size| size.ws_col, USUAL_COLUMNS)
}

fn size(side: fn(Winsize) -> u16, usual: u16) -> usize {
    let known = rustix::termios::tcgetwinsize(stdout()).map_or(0, side);
    usize::from(if known > 0 { known } else { usual })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    use std::ffi::OsStr;
    use std::fs::OpenOptions;
    use std::os::unix::ffi::OsStrExt;
    use std::process::{Command, Stdio};

    /// Set where the test below has started itself on a terminal.
    const ON_A_TERMINAL: &str = "TEIJI_TEST_ON_A_TERMINAL";

    #[test]
    fn a_panic_gives_the_terminal_back() {
        if std::env::var_os(ON_A_TERMINAL).is_some() {
            // Of the program nothing is dropped after a panic.
            std::mem::forget(Taken::take().unwrap());
            panic!("as asked");
        }
        let screen = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&screen).unwrap();
        unlockpt(&screen).unwrap();
        let name = ptsname(&screen, Vec::new()).unwrap();
        let name = OsStr::from_bytes(name.as_bytes());
        let terminal = || OpenOptions::new().read(true).write(true).open(name).unwrap();
        let modes = || {
            let modes = tcgetattr(&screen).unwrap();
            (modes.local_modes, modes.input_modes, modes.special_codes[SpecialCodeIndex::VMIN])
        };
        let before = modes();
        let mut child = Command::new("/proc/self/exe");
        child.args(["--nocapture", "a_panic_gives_the_terminal_back"]);
        child.env(ON_A_TERMINAL, "1").stderr(Stdio::null());
        // What is written waits in the terminal, which this side keeps open.
        let kept = terminal();
        assert!(!child.stdin(terminal()).stdout(terminal()).status().unwrap().success());
        let mut bytes = [0; 4096];
        let read = rustix::io::read(&screen, &mut bytes).unwrap();
        let text = String::from_utf8_lossy(&bytes[..read]);
        let taken = text.find(ENTER).expect("the terminal was taken");
        assert!(text[taken..].contains(LEAVE), "{text:?}");
        assert_eq!(modes(), before);
        drop(kept);
    }
}
