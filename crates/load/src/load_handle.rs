// SPDX-License-Identifier: MIT OR Apache-2.0
//! The parent's handle of one load: the supervisor's process, its reports, and how it ends.

use crate::evidence::Account;
use crate::pipe_reader::PipeReader;
use crate::report::{BEGIN, MEASURED_FROM, Reading, Report, SupervisorArgument};
use crate::settling::{LEVEL_MS, UNKNOWN_NS};
use crate::spec::ValidatedLoad;
use model::{BusyCpu, LoadEvidence, LoadFailure, LoadOnCpu, Reached, Steady, Warning};
use plan::{Nanos, Phase};
use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitOptions, kill_process_group, waitid, waitpgid,
};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Between two checks of something that will not take long.
pub(crate) const PAUSE: Duration = Duration::from_millis(2);
/// How long killed processes may take to be gone.
const REAP_TIMEOUT: Duration = Duration::from_secs(2);
/// What is kept of complaints, bytes: four thousand tasks may all complain of the same.
const COMPLAINTS: usize = 2_000;

/// What a load does at the moment, for the eye only.
#[derive(Clone, Debug)]
pub struct LoadNow {
    pub spec: String,
    /// CPU use asked for, percent of one CPU.
    pub requested: Option<f64>,
    /// CPU use in the last whole second.
    pub latest: Option<f64>,
    /// CPU use since the beginning.
    pub reached: Option<Reached>,
    /// What it did per second, in its own units.
    pub rate: BTreeMap<String, f64>,
    /// Whether nothing has been heard against it.
    pub alive: bool,
}

/// How far a load has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    /// Its tasks are being forked.
    Assembling,
    /// They wait at the start barrier.
    Prepared,
    Running,
    /// They have been killed after the last reading.
    Final,
    /// The supervisor is gone.
    Gone,
}

#[derive(Debug)]
pub(crate) struct LoadHandle {
    pub(crate) load: ValidatedLoad,
    pub(crate) stage: Stage,
    supervisor: Child,
    /// Closed to stop the load.
    orders: Option<ChildStdin>,
    reports: PipeReader,
    complaints: PipeReader,
    account: Account,
    /// Whether the reading with which the measured span begins has come.
    begun: bool,
    /// When it was in its steady state, since its tasks were released, ns.
    settled_after_ns: Option<u64>,
    /// Of a load that begins while measuring, what its tasks have used until then.
    waiting: Reading,
    /// When it began and was stopped while measuring, CLOCK_MONOTONIC, ns.
    started_ns: Option<u64>,
    stopped_ns: Option<u64>,
    /// Why it did not hold.
    failure: Option<LoadFailure>,
    /// The nice level that it inherited and may not leave.
    nice: Option<i32>,
}

impl LoadHandle {
    /// Starts the supervisor. It has a process group of its own: Ctrl-C reaches the foreground
    /// group only, and one signal to the group reaches supervisor and tasks.
    pub(crate) fn start(
        load: ValidatedLoad,
        phase: Phase,
        place: usize,
        program: &Path,
        hidden_verb: &str,
    ) -> io::Result<Self> {
        let shift_ns =
            if load.common.has_times() { phase.load_shift(place).0.unsigned_abs() } else { 0 };
        let argument = SupervisorArgument {
            spec: load.spec.clone(),
            cpus: load.cpus.clone(),
            memory: load.memory,
            loads: load.loads,
            seed: phase.load_seed(place),
            shift_ns,
            parent: std::process::id(),
        };
        let mut supervisor = Command::new(program)
            .arg(hidden_verb)
            .arg(serde_json::to_string(&argument)?)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()?;
        let orders = supervisor.stdin.take();
        let pipes = supervisor.stdout.take().zip(supervisor.stderr.take());
        let readers = pipes.map(|(reports, complaints)| {
            Ok((PipeReader::new(reports.into())?, PipeReader::new(complaints.into())?))
        });
        let (reports, complaints) =
            match readers.unwrap_or_else(|| Err(io::Error::other("its pipes are missing"))) {
                Ok(readers) => readers,
                Err(error) => {
                    let _ = supervisor.kill();
                    let _ = supervisor.wait();
                    return Err(error);
                }
            };
        let account = Account::new(load.cpus.len());
        let (stage, failure, nice) = (Stage::Assembling, None, None);
        Ok(LoadHandle {
            load,
            stage,
            supervisor,
            orders,
            reports,
            complaints,
            account,
            begun: false,
            settled_after_ns: None,
            waiting: Reading::default(),
            started_ns: None,
            stopped_ns: None,
            failure,
            nice,
        })
    }

    /// Gives an order. A supervisor that cannot take it is about to be found dead.
    pub(crate) fn order(&mut self, order: u8) {
        if let Some(orders) = &mut self.orders {
            let _ = orders.write_all(&[order]);
        }
    }

    /// Has the measured span begin.
    pub(crate) fn begin(&mut self) {
        self.begun = false;
        self.order(BEGIN);
    }

    /// Says when measuring begins, where that matters: otherwise a load does what it does without
    /// being woken. What it reached counts from there.
    pub(crate) fn measured_from(&mut self, begin: Nanos) {
        self.account.measured_from(u64::try_from(begin.0).unwrap_or(0));
        let has_times = self.load.common.has_times();
        if let Some(orders) = self.orders.as_mut().filter(|_| has_times) {
            let mut order = vec![MEASURED_FROM];
            order.extend(begin.0.to_le_bytes());
            let _ = orders.write_all(&order);
        }
    }

    /// Whether it begins to work only while measuring.
    pub(crate) const fn begins_later(&self) -> bool {
        self.load.common.start.is_some()
    }

    pub(crate) fn has_begun(&self) -> bool {
        self.begun
    }

    /// Says that no more orders will come: the load is to stop.
    pub(crate) fn close(&mut self) {
        self.orders = None;
    }

    /// Takes in what the supervisor has said.
    pub(crate) fn poll(&mut self) {
        if self.stage == Stage::Gone {
            return;
        }
        self.complaints.drain();
        self.complaints.truncate(COMPLAINTS);
        self.reports.drain();
        for line in self.reports.lines() {
            match serde_json::from_str(&line) {
                Ok(report) => self.hear(report),
                Err(error) => {
                    self.fail(LoadFailure::UnexpectedMessage { line, error: error.to_string() })
                }
            }
        }
        if self.reports.ended() {
            self.end();
        }
    }

    fn hear(&mut self, report: Report) {
        match report {
            Report::Prepared => self.stage = Stage::Prepared,
            Report::Running(reading) => {
                self.stage = Stage::Running;
                if !self.begins_later() {
                    self.account.begin(reading);
                }
            }
            Report::Settled { after_ns } => self.settled_after_ns = Some(after_ns),
            Report::Begun(reading) => {
                self.begun = true;
                if self.begins_later() {
                    self.waiting = reading
                } else {
                    self.account.begin(reading)
                }
            }
            Report::Second(reading) => self.account.second(reading),
            Report::Started { at_ns } => {
                self.started_ns = Some(at_ns);
                // As busy as other CPUs were by then nobody has looked.
                let before = std::mem::take(&mut self.waiting);
                self.account.begin(Reading { at_ns, busy_ns: Vec::new(), ..before });
            }
            Report::Stopped(reading) => {
                self.stopped_ns = Some(reading.at_ns);
                self.account.end(reading);
            }
            Report::Final(reading) => self.hear_last(reading),
            Report::Nice { nice } => self.nice = Some(nice),
            Report::Died { failure } => self.fail(failure),
            Report::Failed { error } => self.fail(LoadFailure::SupervisorFailed { error }),
        }
    }

    fn hear_last(&mut self, reading: Reading) {
        self.stage = Stage::Final;
        if self.stopped_ns.is_some() {
            return;
        }
        if reading.alive != self.load.tasks {
            self.fail(LoadFailure::TasksMissing { alive: reading.alive, tasks: self.load.tasks });
        }
        if self.started_ns.is_some() || !self.begins_later() {
            self.account.end(reading);
        }
    }

    /// Kills what is left of the load and waits until it is gone. May be called again.
    pub(crate) fn end(&mut self) {
        if self.stage == Stage::Gone {
            return;
        }
        let finished = self.stage == Stage::Final;
        self.stage = Stage::Gone;
        self.close();
        let group = Pid::from_child(&self.supervisor);
        if self.load.load_type.starts_others {
            // Only the supervisor knows what its tasks have started; its orders have ended, and it
            // is given the time to kill that. Only looked at, not waited for: so its
            // number stays its own.
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
            let deadline = Instant::now() + REAP_TIMEOUT;
            while matches!(waitid(WaitId::Pid(group), options), Ok(None))
                && Instant::now() < deadline
            {
                sleep(PAUSE);
            }
        }
        let deadline = Instant::now() + REAP_TIMEOUT;
        // The supervisor has not been waited for, so its number, which is the group's, cannot mean
        // anybody else.
        let _ = kill_process_group(group, Signal::KILL);
        let failure = loop {
            match self.supervisor.try_wait() {
                Ok(None) if Instant::now() < deadline => sleep(PAUSE),
                Ok(None) => break LoadFailure::SupervisorNotKilled,
                Ok(Some(status)) => {
                    break LoadFailure::SupervisorExited { status: status.to_string() };
                }
                Err(error) => break LoadFailure::SupervisorExited { status: error.to_string() },
            }
        };
        // Every task holds the pipe of complaints, so its end is theirs. Where the parent is the
        // system's first process (the lab), tasks without a supervisor become its own
        // children, and are to be waited for.
        while Instant::now() < deadline {
            self.complaints.drain();
            let reaped = matches!(waitpgid(group, WaitOptions::NOHANG), Err(Errno::CHILD));
            if self.complaints.ended() && reaped {
                break;
            }
            sleep(PAUSE);
        }
        if !finished {
            self.fail(failure);
        }
    }

    /// The load did not hold. The first reason is the one that counts.
    pub(crate) fn fail(&mut self, failure: LoadFailure) {
        self.failure.get_or_insert(failure);
    }

    /// Whether it is in its steady state, or has none yet to wait for.
    pub(crate) fn settled(&self) -> bool {
        self.settled_after_ns.is_some() || self.begins_later()
    }

    /// Whether nothing has been heard against it.
    pub(crate) fn alive(&self) -> bool {
        self.failure.is_none()
    }

    /// Why it did not hold, for an error.
    pub(crate) fn reason(&self) -> String {
        let complaints = self.complaints.text();
        let mut reason = self.failure.as_ref().map(ToString::to_string).unwrap_or_default();
        if !complaints.is_empty() {
            reason += if reason.is_empty() { "" } else { "; " };
            reason += &complaints;
        }
        if reason.is_empty() { "it printed nothing".to_owned() } else { reason }
    }

    /// What it was asked to do and what it did.
    pub(crate) fn evidence(&self) -> LoadEvidence {
        let mut evidence = LoadEvidence {
            spec: self.load.spec.to_string(),
            requested: self.load.common.level,
            reached: self.account.reached(),
            cpus: self.load.cpus.clone(),
            rate: self.account.rate(self.load.load_type.units),
            tasks: self.load.tasks as u64,
            nice: self.nice_of_tasks(),
            settled_after_ns: self.settled_after_ns,
            started_ns: self.started_ns,
            stopped_ns: self.stopped_ns,
            alive: self.failure.is_none(),
            off_target: false,
            per_cpu: self.account.per_cpu(&self.load.cpus),
            course: self.account.course(),
        };
        evidence.off_target = evidence.is_off_target();
        evidence
    }

    /// As `worker_pool::settle` gives it to them: what was asked for, or, without that, 0 or what
    /// could not be left.
    fn nice_of_tasks(&self) -> Option<i32> {
        let asked = Some(self.load.common.nice).filter(|nice| *nice != 0);
        (!self.load.common.policy.is_real_time()).then(|| asked.or(self.nice).unwrap_or(0))
    }

    /// What it does at the moment.
    pub(crate) fn now(&self) -> LoadNow {
        LoadNow {
            spec: self.load.spec.to_string(),
            requested: self.load.common.level,
            latest: self.account.latest(),
            reached: self.account.reached(),
            rate: self.account.rate(self.load.load_type.units),
            alive: self.alive(),
        }
    }

    /// What a reader of the figures should know of a load that had not settled when measuring
    /// began.
    pub(crate) fn not_settled(&self) -> Option<Warning> {
        (!self.settled()).then(|| Warning::LoadNotSettled {
            load: self.load.spec.clone(),
            steady: self.steady(),
        })
    }

    /// What its steady state is: a load without a rate is given time.
    fn steady(&self) -> Steady {
        let ns = |ns: u64| Nanos(i64::try_from(ns).unwrap_or(i64::MAX));
        if self.load.load_type.units.is_empty() {
            Steady::RunningForNs(ns(UNKNOWN_NS))
        } else {
            Steady::LevelForNs(ns(LEVEL_MS * 1_000_000))
        }
    }

    /// What a reader of the figures should know of it.
    pub(crate) fn warnings(&self) -> Vec<Warning> {
        let load = || self.load.spec.clone();
        let mut warnings: Vec<Warning> = self
            .nice
            .map(|nice| Warning::LoadConditions { load: load(), nice })
            .into_iter()
            .collect();
        let evidence = self.evidence();
        if evidence.off_target
            && let Some((requested, (reached, cpu))) =
                evidence.requested.zip(evidence.farthest_off())
        {
            let busy = |on: &LoadOnCpu| Some(BusyCpu { cpu: on.cpu, percent: on.machine_busy? });
            let machine = evidence.per_cpu.iter().filter_map(busy).collect();
            warnings.push(Warning::LoadOffTarget {
                load: load(),
                requested,
                reached,
                cpu,
                machine,
            });
        }
        if let Some(failure) = self.failure.clone() {
            warnings.push(Warning::LoadDied {
                load: load(),
                failure,
                output: self.complaints.text(),
            });
        }
        warnings
    }
}
