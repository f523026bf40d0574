// SPDX-License-Identifier: MIT OR Apache-2.0
//! Events of the machine's own kernel, as a program outside of the crate reads them.

use plan::CpuId;
use std::time::Duration;
use trace::{Line, Session, Text, Tracefs};

#[test]
fn switches_are_read_in_order() {
    let tracefs = Tracefs::find().expect("this test needs root and a kernel with tracefs");
    let session = Session::begin(&tracefs).unwrap();
    session.enable("sched/sched_switch", Some("next_prio >= 0")).unwrap();
    std::thread::sleep(Duration::from_millis(100));
    let mut reader = session.reader(CpuId(0)).unwrap();
    assert!(reader.wait(Duration::from_secs(5)).unwrap(), "nothing ran on CPU 0 for 5 s");
    session.write("tracing_on", "0").unwrap();
    let (mut events, mut last) = (0, 0);
    while let Some(text) = reader.next().unwrap() {
        let Text::Line(text) = text else { continue };
        let line = Line::parse(text).unwrap_or_else(|| panic!("no event: {text}"));
        assert!(line.payload.starts_with("sched_switch: prev_comm="), "{text}");
        assert_eq!(line.cpu, CpuId(0));
        assert!(line.time.0 >= last, "{text}");
        (events, last) = (events + 1, line.time.0);
    }
    assert!(events > 0);
    drop(reader);
    session.end().unwrap();
}
