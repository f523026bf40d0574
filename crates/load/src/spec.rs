// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether a load as written can be run here, before anything is started.
//!
//! Commas separate the options of a spec, so a list of CPUs within one is joined by `+`:
//! `cpu,cpus=0-1+3`. Otherwise it is a CPU list like any other, with `!2` and `all`.

use crate::limits::Limits;
use crate::load_types::{self, Generator, LOAD_TYPES, LoadType};
use crate::options::{CommonOptions, Options, SpecError, below, number_hint};
use plan::{CpuError, CpuId, CpuList, LoadSpec, Nanos, Policy, Unit};
use std::time::Duration;

/// What every load understands.
const COMMON: [&str; 7] = ["cpus", "period", "nice", "policy", "prio", "start", "stop"];
/// Default of a duty cycle.
const PERIOD: Duration = Duration::from_millis(10);

/// A load that can be started.
#[derive(Clone, Debug)]
pub struct ValidatedLoad {
    pub(crate) spec: LoadSpec,
    pub(crate) cpus: Vec<CpuId>,
    pub(crate) load_type: &'static LoadType,
    pub(crate) common: CommonOptions,
    pub(crate) tasks: usize,
    pub(crate) memory: u64,
    pub(crate) loads: usize,
}

impl ValidatedLoad {
    pub fn spec(&self) -> &LoadSpec {
        &self.spec
    }

    /// Where it will run, ascending.
    pub fn cpus(&self) -> &[CpuId] {
        &self.cpus
    }

    /// Of how many processes it will consist.
    pub fn tasks(&self) -> usize {
        self.tasks
    }
}

/// The names of all loads of this kind.
fn names(of: impl Fn(&&LoadType) -> bool) -> String {
    LOAD_TYPES.iter().filter(of).map(|load_type| load_type.name).collect::<Vec<_>>().join(", ")
}

/// Checks a load against the loads there are, the CPUs there are, and `limits`. It runs on its
/// `cpus=`, of those `available`, or on all of the `usual` ones, where work runs that asks for
/// nothing else. Nothing is started.
///
/// # Errors
/// The first thing wrong with it, naming the part of the spec.
pub fn check(
    spec: &LoadSpec,
    usual: &[CpuId],
    available: &[CpuId],
    limits: &Limits,
) -> Result<ValidatedLoad, SpecError> {
    check_on(spec, usual, available, limits, false)
}

/// The same for a load that will run on another machine, with CPUs and limits of that: all but its
/// files and programs, which only it knows.
///
/// # Errors
/// The first thing wrong with it, naming the part of the spec.
pub fn check_elsewhere(
    spec: &LoadSpec,
    usual: &[CpuId],
    available: &[CpuId],
    limits: &Limits,
) -> Result<(), SpecError> {
    check_on(spec, usual, available, limits, true).map(drop)
}

fn check_on(
    spec: &LoadSpec,
    usual: &[CpuId],
    available: &[CpuId],
    limits: &Limits,
    elsewhere: bool,
) -> Result<ValidatedLoad, SpecError> {
    let mut cpus = usual.to_vec();
    if let Some((_, list)) = spec.options().find(|(key, _)| *key == "cpus") {
        let list: CpuList = list.replace('+', ",").parse().map_err(|error| match error {
            CpuError::Syntax { part, .. } => SpecError(format!(
                "'{part}' in the load '{spec}' is not a CPU: write numbers and ranges joined by \
                 +, such as cpus=0-1 or cpus=0+2"
            )),
            source => SpecError::whole(spec, source),
        })?;
        cpus = list.resolve(available).map_err(|source| SpecError::whole(spec, source))?;
    }
    cpus.sort_unstable();
    cpus.dedup();
    let options =
        Options { spec, cpus: cpus.len(), memory: limits.memory, loads: limits.loads, elsewhere };
    let (load_type, generator, common) = read_options(&options)?;
    if cpus.is_empty() {
        return Err(SpecError::whole(spec, CpuError::Empty(CpuList::format(available))));
    }
    if cpus.len() < load_type.min_cpus {
        let LoadType { name, min_cpus, .. } = load_type;
        return Err(SpecError(format!(
            "the load '{spec}' works between CPUs: {name} needs at least {min_cpus} of them, and \
             its list is {}",
            CpuList::format(&cpus)
        )));
    }
    if let Some(probe) =
        limits.probe_prio.filter(|probe| common.policy.is_real_time() && common.prio + 2 > *probe)
    {
        return Err(SpecError(format!(
            "real-time priority {} in the load '{spec}': {}",
            common.prio,
            below(probe)
        )));
    }
    Ok(ValidatedLoad {
        spec: spec.clone(),
        load_type,
        common,
        tasks: generator.tasks(cpus.len()),
        cpus,
        memory: limits.memory,
        loads: limits.loads,
    })
}

/// Checks that a load begins to work, and is stopped, within a run of this length, by its phase so
/// much later than it says.
///
/// # Errors
/// Naming the time that is too late.
pub fn check_times(spec: &LoadSpec, length: Nanos, shift: Nanos) -> Result<(), SpecError> {
    let phase =
        if shift.0 > 0 { format!(", and a load's phase adds {shift}") } else { String::new() };
    let expected = format!("within the run, which measures for {length}{phase}");
    let length = length.0.saturating_sub(shift.0).max(0).unsigned_abs();
    let options = Options { spec, cpus: 1, memory: 0, loads: 1, elsewhere: true };
    for (key, least) in [("start", Nanos(0)), ("stop", Nanos(1))] {
        let is_late = |time: Duration| time.as_nanos() >= u128::from(length);
        if options.time(key, least)?.is_some_and(is_late) {
            return Err(options.refuse(key, &expected));
        }
    }
    Ok(())
}

/// A load whose text has been read.
pub(crate) type Read = (&'static LoadType, Box<dyn Generator>, CommonOptions);

/// The part of [`check`] that the supervisor does again on its side, on so many CPUs, with so much
/// memory to give, one of so many loads.
pub(crate) fn read(
    spec: &LoadSpec,
    cpus: usize,
    memory: u64,
    loads: usize,
) -> Result<Read, SpecError> {
    read_options(&Options { spec, cpus, memory, loads, elsewhere: false })
}

fn read_options(options: &Options<'_>) -> Result<Read, SpecError> {
    let spec = options.spec;
    let name = spec.name();
    let Some(load_type) = load_types::find(name) else {
        let known = names(|_| true);
        return Err(SpecError(format!(
            "unknown load '{name}' (in '{spec}'): expected one of {known}"
        )));
    };
    let known: Vec<&str> = COMMON.iter().chain(load_type.keys).copied().collect();
    if let Some((key, _)) = spec.options().find(|(key, _)| !known.contains(key)) {
        return Err(SpecError(format!(
            "unknown key '{key}' in the load '{spec}': the keys of {name} are {}{}",
            known.join(", "),
            number_hint(key)
        )));
    }
    let common = common(load_type, options)?;
    Ok((load_type, (load_type.read)(options)?, common))
}

fn common(load_type: &LoadType, options: &Options<'_>) -> Result<CommonOptions, SpecError> {
    let period = options.parsed("period", "a time from 1ms to 1s", |text| {
        let nanos = Nanos::parse(text, Unit::Microsecond).ok()?.0;
        (1_000_000..=1_000_000_000)
            .contains(&nanos)
            .then(|| Duration::from_nanos(nanos.unsigned_abs()))
    })?;
    let nice = options.number("nice", -20..=19)?;
    let prio = options.number("prio", 1..=97)?;
    let policy = options.parsed("policy", "fifo, rr, other, batch or idle", |text| {
        text.parse().ok().filter(|policy| *policy != Policy::Deadline)
    })?;
    let policy: Policy =
        policy.unwrap_or(if prio.is_some() { Policy::Fifo } else { Policy::Other });
    if prio.is_some() && !policy.is_real_time() {
        return Err(options.refuse("prio", "for policy=fifo and policy=rr only"));
    }
    let prio = if policy.is_real_time() { prio.unwrap_or(1) } else { 0 };
    let [start, stop] = [options.time("start", Nanos(0))?, options.time("stop", Nanos(1))?];
    if start.zip(stop).is_some_and(|(start, stop)| stop <= start) {
        return Err(options.refuse("stop", "later than start"));
    }
    Ok(CommonOptions {
        level: level(load_type, options)?,
        period: period.unwrap_or(PERIOD),
        nice: nice.unwrap_or(0),
        policy,
        prio,
        start,
        stop,
        seed: 0,
    })
}

fn level(load_type: &LoadType, options: &Options<'_>) -> Result<Option<f64>, SpecError> {
    let Some(text) = options.spec.level() else { return Ok(None) };
    let error = |why: String| SpecError(format!("'@{text}' in the load '{}': {why}", options.spec));
    if !load_type.paced {
        return Err(error(format!(
            "{} has no level. Loads with a level: {}",
            load_type.name,
            names(|other| other.paced)
        )));
    }
    let percent = text
        .strip_suffix('%')
        .unwrap_or(text)
        .parse()
        .ok()
        .filter(|percent| *percent > 0.0 && *percent <= 100.0);
    percent.map(Some).ok_or_else(|| {
        error("a level is a CPU use above 0% and up to 100%, such as @50%".to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn checked(spec: &str) -> Result<ValidatedLoad, SpecError> {
        let available: Vec<CpuId> = (0..4).map(CpuId).collect();
        let limits = Limits { memory: 1 << 30, probe_prio: Some(90), loads: 1 };
        check(&spec.parse().unwrap(), &[CpuId(2), CpuId(1), CpuId(2)], &available, &limits)
    }

    fn says(spec: &str) -> String {
        checked(spec).unwrap_err().to_string()
    }

    #[test]
    fn where_and_how_many() {
        let places = |spec| {
            let load = checked(spec).unwrap();
            (load.cpus().iter().map(|cpu| cpu.0).collect::<Vec<_>>(), load.tasks())
        };
        assert_eq!(places("cpu"), (vec![1, 2], 2));
        assert_eq!(places("cpu,cpus=0-2"), (vec![0, 1, 2], 3));
        assert_eq!(places("cpu,cpus=0+3"), (vec![0, 3], 2));
        assert_eq!(places("cpu,cpus=all+!0"), (vec![1, 2, 3], 3));
        assert_eq!(places("hackbench"), (vec![1, 2], 400));
        assert_eq!(places("hackbench,groups=1,via=pipe,cpus=0"), (vec![0], 40));
        assert_eq!(places("hackbench,groups=100,via=socket"), (vec![1, 2], 4000));
    }

    #[test]
    fn of_another_machine_files_and_programs_are_not_looked_for_here() {
        let limits = Limits { memory: 1 << 30, probe_prio: Some(90), loads: 1 };
        let check_there =
            |spec: &str| check_elsewhere(&spec.parse().unwrap(), &[CpuId(0)], &[CpuId(0)], &limits);
        for spec in ["disk,dir=/only/there", "disk,dir=/only/there,size=999T", "cmd:/only/there"] {
            assert!(checked(spec).is_err(), "{spec}");
            assert_eq!(check_there(spec), Ok(()), "{spec}");
        }
        for spec in ["disk,size=1", "disk,dur=/tmp", "cmd:'open", "cpu,cpus=1", "cpu,prio=89"] {
            assert!(check_there(spec).is_err(), "{spec}");
        }
    }

    #[test]
    fn times_are_within_the_run() {
        let within = |spec: &str, shift| {
            let [length, shift] = [50, shift].map(Nanos::from_millis);
            check_times(&spec.parse().unwrap(), length, shift).map_err(|error| error.to_string())
        };
        assert_eq!(within("cpu,start=49ms", 0), Ok(()));
        assert_eq!(
            within("cpu,start=50ms", 0).unwrap_err(),
            "'start=50ms' in the load 'cpu,start=50ms': start is within the run, which measures \
             for 50ms"
        );
        assert_eq!(
            within("cpu,start=5ms,stop=40ms", 10).unwrap_err(),
            "'stop=40ms' in the load 'cpu,start=5ms,stop=40ms': stop is within the run, which \
             measures for 50ms, and a load's phase adds 10ms"
        );
        assert_eq!(within("cpu", 60), Ok(()));
    }

    #[test]
    fn names_what_is_wrong() {
        for (spec, message) in [
            (
                "cpu@0%",
                "'@0%' in the load 'cpu@0%': a level is a CPU use above 0% and up to 100%, such \
                 as @50%",
            ),
            (
                "cpu@150%",
                "'@150%' in the load 'cpu@150%': a level is a CPU use above 0% and up to 100%, \
                 such as @50%",
            ),
            (
                "cpu@NaN%",
                "'@NaN%' in the load 'cpu@NaN%': a level is a CPU use above 0% and up to 100%, \
                 such as @50%",
            ),
            (
                "hackbench@50%",
                "'@50%' in the load 'hackbench@50%': hackbench has no level. Loads with a level: \
                 cpu, mem-alloc, mem-fault, mem-access, cache, dev-zero",
            ),
            (
                "cpu,groups=1",
                "unknown key 'groups' in the load 'cpu,groups=1': the keys of cpu are cpus, \
                 period, nice, policy, prio, start, stop",
            ),
            (
                "cpu,cpus=0,2",
                "unknown key '2' in the load 'cpu,cpus=0,2': the keys of cpu are cpus, period, \
                 nice, policy, prio, start, stop; join CPUs with +, as in cpus=0+2",
            ),
            (
                "cpu,prio=89",
                "real-time priority 89 in the load 'cpu,prio=89': the measuring threads have 90; \
                 a load's is at most 88, so that its own control fits between",
            ),
            (
                "cpu,prio=5,policy=batch",
                "'prio=5' in the load 'cpu,prio=5,policy=batch': prio is for policy=fifo and \
                 policy=rr only",
            ),
            (
                "cpu,start=-5ms",
                "'start=-5ms' in the load 'cpu,start=-5ms': start is a time since measuring \
                 began, such as 200ms",
            ),
            (
                "cpu,start=2s,stop=1s",
                "'stop=1s' in the load 'cpu,start=2s,stop=1s': stop is later than start",
            ),
            (
                "cpu,period=2s",
                "'period=2s' in the load 'cpu,period=2s': period is a time from 1ms to 1s",
            ),
            (
                "mem-alloc@50%,chunk=9999T",
                "'chunk=9999T' in the load 'mem-alloc@50%,chunk=9999T': chunk is a size such as \
                 64M, from 4K up to 512M here: half of the memory that is free, shared by loads \
                 and their CPUs",
            ),
            (
                "tlb,cpus=1",
                "the load 'tlb,cpus=1' works between CPUs: tlb needs at least 2 of them, and its \
                 list is 1",
            ),
            ("cmd:", "the load 'cmd:': there is no command after cmd:"),
            (
                "cmd:/no/such",
                "the load 'cmd:/no/such': there is no program '/no/such' that can be run here",
            ),
            (
                "cmd:\"sleep 1 | x\"",
                "the load 'cmd:\"sleep 1 | x\"': '|' has no meaning here, the command runs \
                 without a shell: write cmd:sh -c 'sleep 1 | x'",
            ),
            (
                "cmd:\"a && b\",nice=3",
                "the load 'cmd:\"a && b\",nice=3': '&&' has no meaning here, the command runs \
                 without a shell: write cmd:\"sh -c 'a && b'\",nice=3",
            ),
            (
                "cmd:sh -c 'x",
                "the load 'cmd:sh -c 'x': the command has an unclosed quote or a trailing \
                 backslash",
            ),
            (
                "hackbench,groups=0",
                "'groups=0' in the load 'hackbench,groups=0': groups is a number from 1 to 100",
            ),
            (
                "hackbench,groups",
                "'groups=' in the load 'hackbench,groups': groups is a number from 1 to 100",
            ),
            (
                "hackbench,groups=101",
                "'groups=101' in the load 'hackbench,groups=101': groups is a number from 1 to 100",
            ),
            (
                "hackbench,via=udp",
                "'via=udp' in the load 'hackbench,via=udp': via is socket or pipe",
            ),
            (
                "cpu,cpus=0+x",
                "'x' in the load 'cpu,cpus=0+x' is not a CPU: write numbers and ranges joined by \
                 +, such as cpus=0-1 or cpus=0+2",
            ),
            (
                "cpu,cpus=9",
                "the load 'cpu,cpus=9': CPU 9 cannot be used: it is absent, offline or excluded \
                 by a cpuset. Usable CPUs: 0-3",
            ),
            ("cpu,cpus=!0-3", "the load 'cpu,cpus=!0-3': the CPU list leaves no CPU of 0-3"),
        ] {
            assert_eq!(says(spec), message);
        }
        assert!(
            says("cqu")
                .starts_with("unknown load 'cqu' (in 'cqu'): expected one of cpu, mem-alloc, ")
        );
        assert!(says("cpu,cpus").starts_with("'' in the load 'cpu,cpus' is not a CPU: "));
    }

    proptest! {
        #[test]
        fn no_spec_panics(
            name in "cpu|hackbench|mem-alloc|cmd:|timer|x",
            rest in "[,=@+!0-9a-z-]{0,20}",
        ) {
            if let Ok(spec) = format!("{name}{rest}").parse() {
                let limits = Limits { memory: 1 << 20, probe_prio: Some(1), loads: 2 };
                let _ = check(&spec, &[CpuId(0)], &[CpuId(0), CpuId(1)], &limits);
            }
        }
    }
}
