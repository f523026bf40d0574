// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is recorded.
//!
//! Here live the types of `run.json`, one for each concept, and what follows from a recording's own
//! figures without its files: whether they contradict its samples, what happened between the two
//! snapshots of the machine, what kept it busy beside the run, and how it is without names.
//!
//! In: plain values. Out: plain values, which serialise as `docs/recording.md` says. Must not
//! touch: files, clocks, the machine.
#![forbid(unsafe_code)]

mod accounted;
mod anonymous;
mod changes;
mod checks;
mod contradictions;
mod document;
mod examined;
mod explained;
mod fair_server;
mod host_facts;
mod imported;
mod lab;
mod load_evidence;
mod load_failure;
mod other_work;
mod phrase;
mod probe_statement;
mod recorded;
mod refusal;
mod run_identity;
mod steal;
mod text;
mod thread;
mod warning;

pub use accounted::Accounted;
pub use anonymous::{Anonymiser, Console, Pseudonyms};
pub use changes::{Changes, CpuTimeChange, EventChange, FactChange, changes};
pub use checks::{CheckText, check_text};
pub use contradictions::{Contradiction, contradictions};
pub use document::{
    CoKernel, Document, End, FORMAT, Instrument, State, VERSION, WatchCost, Watched,
    WatchedLatencies,
};
pub use examined::{Examined, Pool};
pub use explained::{
    Account, Cause, EXPLAINED, EXPLAINED_VERSION, Evidence, Explained, FunctionTime, Inlined,
    OtherCpu, Part, PartKind, ProgramThread, Source, Sources, Span, Timeline, causes,
};
pub use fair_server::{FairServer, kernel_version};
pub use host_facts::{
    BusyProcess, CpuFacts, EventCounts, Host, HostFacts, LATENCY_ARGUMENTS, Processes, Unreadable,
    VOLUNTARY_OR_NONE, kernel_arguments, preemption_phrase,
};
pub use imported::{Imported, Said, Unknown};
pub use lab::{DefaultCpus, Lab, LabFile, LabKernel, LabQemu, LabSnapshot, QemuOrigin};
pub use load_evidence::{LoadEvidence, LoadOnCpu, Reached};
pub use load_failure::LoadFailure;
pub use other_work::OtherWork;
pub use phrase::Phrase;
pub use probe_statement::{Column, ColumnUnit, ProbeStatement, Quantity, RowKind, TakenBy};
pub use recorded::{Beside, ENVELOPE_STEPS, FLUSH_INTERVAL, Recorded, fill_in};
pub use refusal::RefusalCause;
pub use run_identity::RunIdentity;
pub use text::document_text;
pub use thread::{
    ColumnFigures, Detail, HistogramDocument, Polling, RowCounts, Smis, SmisUnknown, Thread,
    ThreadEvidence, WithoutPeriod, WorstActivation, samples_file,
};
pub use warning::{
    BusyCpu, FrequencyChange, MemoryNotLocked, NotHeld, OtherWarning, Steady, StolenTime, Warning,
};
