// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is said of a recording that was made of another program's output: whose it is, where it
//! stood, and what it leaves out.

use crate::format;
use crate::language::{Text, meaning, texts, tr};
use model::{Document, Imported, Unknown};
use plan::Nanos;

/// Characters of what an output says.
const MAX_SAID: usize = 300;
/// Characters of a name that a file gave.
const MAX_NAME: usize = 60;

/// `cyclictest 2.40`, `cyclictest (run by rteval 3.8)`.
pub(crate) fn program(document: &Document, imported: &Imported) -> String {
    let version = imported.version.iter().map(|version| format!(" {version}"));
    let named = || std::iter::once(document.probe.name.to_string()).chain(version).collect();
    let program = format::clip(&unknown_program(document).unwrap_or_else(named), MAX_NAME);
    match &imported.ran_by {
        Some(runner) => tr!(program_run_by, program, runner = format::clip(runner, MAX_NAME)),
        None => program,
    }
}

/// In the place of a program that the output does not name: `an unknown program (columns)`.
pub(crate) fn unknown_program(document: &Document) -> Option<String> {
    document
        .lacks(Unknown::Program)
        .then(|| tr!(unknown_program, shape = format::clip(&document.probe.name, MAX_NAME)))
}

/// Whose output it is, and where it stood.
pub(crate) fn origin(document: &Document) -> Option<String> {
    let imported = document.imported.as_ref()?;
    let file = format::clip(&imported.file, MAX_NAME);
    Some(tr!(
        measured_by_program_read_from,
        program = program(document, imported),
        file,
        line = format::count(imported.line)
    ))
}

/// What its output leaves out.
pub(crate) fn lacking(document: &Document) -> Option<String> {
    let imported = document.imported.as_ref()?;
    let what = |unknown: &Unknown| match unknown {
        Unknown::Interval => Some(texts::unknown_interval),
        Unknown::Scheduling => Some(texts::unknown_scheduling),
        Unknown::Start => Some(texts::unknown_start),
        Unknown::Load => Some(texts::unknown_load),
        Unknown::Unit => Some(texts::unknown_unit),
        Unknown::Count => Some(texts::unknown_count),
        Unknown::Beyond => Some(texts::unknown_beyond),
        Unknown::Minimum => Some(texts::unknown_minimum),
        Unknown::Mean => Some(texts::unknown_mean),
        // Said in the place of its name.
        Unknown::Program => None,
    };
    let all: Vec<&str> = imported.unknown.iter().filter_map(what).map(Text::said).collect();
    Some(all.join(texts::comma.said()))
}

/// Before anybody relies on its figures.
pub(crate) fn caveat(document: &Document) -> Option<String> {
    let program = program(document, document.imported.as_ref()?);
    let what = lacking(document).filter(|what| !what.is_empty());
    Some(match what {
        Some(what) => tr!(measured_by_program_unknown, program, what),
        None => tr!(measured_by_program, program),
    })
}

/// The ns that 1 of an output is taken for which does not say its unit.
pub(crate) fn unstated_unit(document: &Document) -> Option<i64> {
    let imported = document.imported.as_ref().filter(|_| document.lacks(Unknown::Unit))?;
    Some(imported.resolution_ns.max(1))
}

/// Of an output without a unit, which one its times were read in.
pub(crate) fn unit_assumed(document: &Document) -> Option<String> {
    let imported = document.imported.as_ref().filter(|_| document.lacks(Unknown::Unit))?;
    Some(tr!(unit_assumed, program = program(document, imported)))
}

/// What values are whole multiples of.
pub(crate) fn resolution(document: &Document) -> Option<String> {
    let step = document.imported.as_ref()?.resolution_ns;
    Some(tr!(whole_multiples_of, step = Nanos(step)))
}

/// What the output notes of its figures, in its own words: that not all were looked at.
pub(crate) fn note(document: &Document) -> Option<String> {
    let imported = document.imported.as_ref()?;
    let note = imported.says.iter().find(|said| said.what == "Note")?;
    let (program, note) = (program(document, imported), format::clip(&note.text, MAX_SAID));
    Some(tr!(program_notes, program, note))
}

/// What the output says beside, in its own words, and what the importer says of them.
pub(crate) fn says(document: &Document) -> Option<String> {
    let says = &document.imported.as_ref()?.says;
    let one = |said: &model::Said| {
        format::clip(&format!("{}: {}", meaning(&said.what), meaning(&said.text)), MAX_SAID)
    };
    let all = says.iter().map(one).collect::<Vec<_>>().join(texts::semicolon.said());
    (!all.is_empty()).then_some(all)
}
