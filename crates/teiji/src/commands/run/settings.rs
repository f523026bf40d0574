// SPDX-License-Identifier: MIT OR Apache-2.0
//! From a plan's settings to checked runs. A setting is a flag by its long name, so the flags
//! themselves read it: there is one place that knows what they mean, and here only where in the
//! plan each was written.

use super::flags::{flag_of, refused, refused_alone, words};
use super::plan_entry::PlanEntry;
use super::policies::priority_without_real_time;
use crate::commands::lab::{check_path_exists, checked};
use crate::commands::run_flags::RunFlags;
use crate::exit::in_full;
use clap::{CommandFactory, FromArgMatches};
use executor::SettingError;
use load::Limits;
use model::ProbeStatement;
use plan::{
    Combination, CpuId, PartOfPlan, Plan, PlanError, PlanErrors, PolicyError, ProcessCpus, Run,
    Setting,
};
use std::collections::BTreeMap;

/// Flags that mean something only in the lab.
const LAB_SETTINGS: [&str; 12] = [
    "machine",
    "memory",
    "smp",
    "time",
    "mips",
    "qemu",
    "append",
    "modules",
    "dtb",
    "program",
    "boot-timeout",
    "phase",
];

/// Every flag that takes a run away from this machine.
pub fn lab_settings() -> Vec<&'static str> {
    [&["kernel"][..], &LAB_SETTINGS].concat()
}

/// Settings that others depend on: what those mean is not known where one of these is wrong.
const BASES: [&str; 5] = ["kernel", "machine", "smp", "time", "probe"];

/// All of a plan's combinations, checked; for this machine on these CPUs.
pub fn points(plan: &Plan, cpus: &ProcessCpus) -> Result<Vec<PlanEntry>, PlanErrors> {
    let (points, errors) = checked_apart(plan, Some(&[]), cpus);
    PlanErrors::none_of(errors).map(|()| points)
}

/// All that is wrong with a plan of which not all could be read.
pub fn all_errors(part: PartOfPlan, cpus: &ProcessCpus) -> PlanErrors {
    let PartOfPlan { plan, errors, is_cut, unread } = part;
    let (_, more) = checked_apart(&plan, (!is_cut).then_some(&unread), cpus);
    PlanErrors::from(errors.into_iter().chain(more).collect::<Vec<_>>())
}

/// The combinations, and all that is wrong: each setting is judged by itself first, and then the
/// combinations without those that are wrong. Not where more may be written than could be read, and
/// some others depend on; these flags could not be.
fn checked_apart(
    plan: &Plan,
    unread: Option<&[String]>,
    cpus: &ProcessCpus,
) -> (Vec<PlanEntry>, Vec<PlanError>) {
    let mut command = PlanEntry::command();
    let mut errors = plan.errors_of_quick();
    let varied = plan.vary.iter().flat_map(|factor| &factor.values);
    let settings = plan.measure.iter().chain(varied).chain(plan.include.iter().flatten());
    let quick = plan.quick.iter().flat_map(|quick| {
        let is_varied = plan.vary.iter().any(|factor| factor.key == quick.key);
        let factor = quick.factor.iter().filter(move |_| is_varied);
        let setting = quick.setting.iter().filter(move |_| !is_varied);
        factor.flat_map(|factor| &factor.values).chain(setting)
    });
    let mut wrong: Vec<&Setting> = Vec::new();
    for setting in settings.chain(quick) {
        if let Some(error) = refused_alone(plan, setting, &mut command) {
            errors.push(error);
            wrong.push(setting);
        }
    }
    let is_known = |key: &str| command.get_arguments().any(|flag| flag.get_long() == Some(key));
    let unknown_keys: Vec<&str> =
        wrong.iter().map(|setting| setting.key.as_str()).filter(|key| !is_known(key)).collect();
    let rest = plan.clone().without(&unknown_keys).without_settings(&wrong);
    let has = |key: &str| {
        rest.measure.iter().any(|setting| setting.key == key)
            || rest.vary.iter().any(|factor| factor.key == key)
    };
    let is_lost = |key: &&str| {
        wrong.iter().any(|setting| setting.key == **key)
            || unread.is_some_and(|unread| unread.iter().any(|unread| unread == *key))
    };
    if unread.is_none() || BASES.iter().filter(|key| !has(key)).any(is_lost) {
        return (Vec::new(), errors);
    }
    let (combinations, others) = rest.combinations_and_errors();
    errors.extend(others);
    let mut load_limits = LoadLimits::default();
    let mut points = Vec::new();
    for combination in &combinations {
        let (entry, refused) = point(&rest, combination, &mut command, cpus, &mut load_limits);
        points.extend(entry);
        errors.extend(refused);
    }
    // What a run that cannot be would measure is not known.
    if points.len() == combinations.len() {
        errors.extend(meaningless(plan, &points));
    }
    (points, errors)
}

/// Limits that say nothing of what any of the runs will measure. Where some can be judged, the
/// others have no verdict.
fn meaningless(plan: &Plan, points: &[PlanEntry]) -> Vec<PlanError> {
    let statement = |point: &PlanEntry| {
        Some(point.measured.chosen_probe().ok()?.statement(point.run.as_ref()?))
    };
    let probes: Vec<ProbeStatement> = points.iter().filter_map(statement).collect();
    let probes: Vec<&ProbeStatement> = probes.iter().collect();
    let error = |limit| {
        let why = judge::no_meaning(limit, &probes)?;
        Some(PlanError::at(plan.place_of(limit), why.to_string()))
    };
    plan.limits.iter().filter_map(error).collect()
}

/// What loads may take, by how many there are and the priority measured with: the machine need not
/// be asked for each run.
#[derive(Default)]
struct LoadLimits(BTreeMap<(u8, usize), Limits>);

/// A combination as a run, and all that is wrong with it. What is wrong is left out to find the
/// rest, unless that depends on it.
fn point(
    plan: &Plan,
    combination: &Combination,
    command: &mut clap::Command,
    cpus: &ProcessCpus,
    load_limits: &mut LoadLimits,
) -> (Option<PlanEntry>, Vec<PlanError>) {
    let mut settings = combination.settings.clone();
    let mut errors = Vec::new();
    let is_set = |setting: &Setting| !words(setting).is_empty();
    if !settings.iter().any(|setting| setting.key == "kernel" && is_set(setting)) {
        settings.retain(|setting| {
            let is_of_lab = LAB_SETTINGS.contains(&setting.key.as_str()) && is_set(setting);
            if is_of_lab {
                let what =
                    format!("'{}' is for the lab, and this combination has no kernel", setting.key);
                errors.push(PlanError::at(&setting.at, what));
            }
            !is_of_lab
        });
    }
    let label = plan.label(combination);
    loop {
        let (about, error) = match entry(plan, &settings, &label, command, cpus, load_limits) {
            Ok(entry) => return (Some(entry), errors),
            Err(refused) => refused,
        };
        errors.push(error);
        match about.filter(|key| !BASES.contains(&key.as_str())) {
            Some(key) => settings.retain(|setting| setting.key != key),
            None => return (None, errors),
        }
    }
}

/// These settings as a run, or which of them makes it impossible, if it is one.
fn entry(
    plan: &Plan,
    settings: &[Setting],
    label: &str,
    command: &mut clap::Command,
    cpus: &ProcessCpus,
    load_limits: &mut LoadLimits,
) -> Result<PlanEntry, (Option<String>, PlanError)> {
    let mut entry = command
        .try_get_matches_from_mut(settings.iter().flat_map(words))
        .and_then(|matches| PlanEntry::from_arg_matches(&matches))
        .map_err(|error| (flag_of(&error), refused(plan, settings, &error)))?;
    entry.label = label.to_owned();
    let wrong = |error: SettingError| {
        let about = error.setting(settings);
        let key = about.map(|setting| setting.key.clone());
        if let SettingError::Scheduling(PolicyError::PriorityWithoutRealTime { prio, policy }) =
            error
        {
            return (key, priority_without_real_time(plan, settings, prio, policy));
        }
        // A default that cannot be: the last setting stands for the combination.
        let at = about.or(settings.last()).map_or(&plan.at, |setting| &setting.at);
        let of = if label.is_empty() { String::new() } else { format!("{label}: ") };
        (key, PlanError::at(at, format!("{of}{}", in_full(&error.into()))))
    };
    let run = match &entry.kernel {
        None => Some(run_on_this_machine(&entry.measured, cpus, load_limits).map_err(wrong)?),
        Some(name) => {
            check_path_exists(name).map_err(|error| wrong(error.into()))?;
            let guests = entry.guest.guests(std::slice::from_ref(name)).map_err(wrong)?;
            entry.time = guests.first().map(|guest| guest.time);
            let runs = guests.iter().map(|guest| checked(&entry.measured, entry.phase, guest));
            match runs.collect::<Result<Vec<_>, _>>().map_err(&wrong)?.pop() {
                Some(run) => Some(run),
                // Its machine is not known without the kernel. What is said of the probe and its
                // threads is.
                None => Some(entry.measured.run(&[CpuId(0)]).map_err(wrong)?),
            }
        }
    };
    entry.run = run;
    Ok(entry)
}

/// A run on this machine.
fn run_on_this_machine(
    flags: &RunFlags,
    of_process: &ProcessCpus,
    load_limits: &mut LoadLimits,
) -> Result<Run, SettingError> {
    let cpus = flags.cpus(of_process)?;
    let run = flags.run(&cpus)?;
    if run.length.is_endless() {
        return Err(SettingError::Endless);
    }
    let rank = run.scheduling.rank();
    let limits = load_limits
        .0
        .entry((rank, run.loads.len()))
        .or_insert_with(|| Limits::for_loads(Some(rank), run.loads.len()));
    for spec in &run.loads {
        load::check(spec, &of_process.inherited, &of_process.usable, limits)?;
    }
    Ok(run)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn read(text: &str) -> Result<Vec<PlanEntry>, String> {
        let plan = Plan::read(Path::new("plan.toml"), &mut |_| Ok(text.to_owned())).unwrap();
        let both = vec![CpuId(0), CpuId(1)];
        let cpus = ProcessCpus { inherited: both.clone(), usable: both, ..ProcessCpus::default() };
        points(&plan, &cpus).map_err(|error| error.to_string())
    }

    #[test]
    fn settings_become_runs() {
        let points = read(
            "[measure]\nprio = 80\nsamples = 1_000\ncpus = \"1\"\ncatch-up = \
             true\n[vary]\ninterval = ['300us', '1ms']\nload = ['none', 'cpu@50%']\n",
        );
        let points = points.unwrap();
        assert_eq!(points.len(), 4);
        assert_eq!(points[1].label, "interval=300us load=cpu@50%");
        let run = points[1].run.as_ref().unwrap();
        assert_eq!(
            (run.interval_ns.0, run.cpus.as_slice(), run.loads.len()),
            (300_000, [CpuId(1)].as_slice(), 1)
        );
        assert_eq!(run.overrun_policy, plan::OverrunPolicy::CatchUp);
        assert!(points[0].run.as_ref().unwrap().loads.is_empty());
    }

    #[test]
    fn phases_become_runs() {
        let points = read(
            "[measure]\nkernel = 'debian:amd64'\nsamples = 9\n[vary]\nload = ['none', \
             'cpu']\nphase = '1..2'\n",
        )
        .unwrap();
        let of =
            |point: &PlanEntry| format!("{} {}", point.label, point.run.as_ref().unwrap().phase);
        let all = [
            "load=none phase=1 1",
            "load=none phase=2 2",
            "load=cpu phase=1 1",
            "load=cpu phase=2 2",
        ];
        assert_eq!(points.iter().map(of).collect::<Vec<_>>(), all);
    }

    /// Such as one with a co-kernel, whose machine is known when its image is read.
    #[test]
    fn probes_of_kernels_by_path_are_checked() {
        let image = std::env::current_exe().unwrap().display().to_string();
        for (setting, error) in [
            (
                "sleep = 'relative'",
                "invalid value 'relative' for 'sleep' of the probe cobalt: it is one of absolute, \
                 timerfd",
            ),
            ("policy = 'other'", "'policy' of the probe cobalt is impossible here: "),
            ("clock = 'tai'", "the probe cobalt has no setting 'clock'"),
        ] {
            let text = format!(
                "[measure]\nsamples = 9\nprobe = 'cobalt'\n{setting}\n[vary]\nkernel = \
                 ['{image}']\n"
            );
            let output = read(&text).map(|points| points.len()).unwrap_err();
            assert!(
                output.starts_with("plan.toml:4:1: kernel=") && output.contains(error),
                "{output}"
            );
        }
        let text =
            format!("[measure]\nsamples = 9\nprobe = 'cobalt'\n[vary]\nkernel = ['{image}']\n");
        assert_eq!(read(&text).unwrap().len(), 1);
    }

    #[test]
    fn flags_are_left_out() {
        let points = read(
            "[vary]\nkernel = ['none', 'debian:amd64']\nappend = ['none', 'nohz=off']\nprio = \
             ['none', 3]\n[[exclude]]\nkernel = 'none'\nappend = 'nohz=off'\n",
        );
        let points = points.unwrap();
        assert_eq!(points.len(), 6);
        assert!(points[0].kernel.is_none() && points[2].kernel.is_some());
        assert_eq!(points[0].run.as_ref().unwrap().scheduling.prio, Some(90));
        assert_eq!(points[1].run.as_ref().unwrap().scheduling.prio, Some(3));
    }

    #[test]
    fn everything_that_is_refused_is_named_once() {
        let text = "[measure]\npriority = 3\npolicy = 'fast'\n[vary]\nload = ['cup', 'cpu', \
                    'nte']\ninterval = ['1ms', '2ms']\n";
        let output = read(text).map(|points| points.len()).unwrap_err();
        let lines: Vec<&str> = output.lines().map(str::trim).collect();
        assert_eq!((lines[0], lines.len()), ("4 errors in the plan", 5), "{output}");
        assert_eq!(lines[1], "plan.toml:2:1: unknown flag 'priority': did you mean 'prio'?");
        assert!(lines[2].starts_with("plan.toml:3:1: invalid value 'fast'"), "{output}");
        assert!(lines[3].starts_with("plan.toml:5:9: load=cup interval=1ms: "), "{output}");
        assert!(lines[4].starts_with("plan.toml:5:23: load=nte interval=1ms: "), "{output}");
        let output = read(&text.replace("policy = 'fast'", "prio = 3"))
            .map(|points| points.len())
            .unwrap_err();
        let lines: Vec<&str> = output.lines().map(str::trim).collect();
        assert_eq!((lines[0], lines.len()), ("3 errors in the plan", 4), "{output}");
        assert!(lines[2].starts_with("plan.toml:5:9: load=cup interval=1ms: "), "{output}");
        assert!(lines[3].starts_with("plan.toml:5:23: load=nte interval=1ms: "), "{output}");
    }

    /// A plan with seven faults took four tries.
    #[test]
    fn all_that_is_wrong_is_said_at_once() {
        let text = "titel = 'a'\n[measure]\nsampels = 5\nprio = 120\npolicy = fast\nwarmup = \
                    'soon'\ninterval = '1ns'\ncpus = { first = 1 }\n[vary]\nload = ['cup', 'cpu', \
                    'cpu']\nthreads = 3\n[order]\nrepeat = 0\n[limits]\nmax = 'low'\n[quick]\n\
                    samplse = 9\nload = 'cpu'\n";
        let part = Plan::read_in_part(Path::new("plan.toml"), &mut |_| Ok(text.to_owned()));
        let both = vec![CpuId(0), CpuId(1)];
        let cpus = ProcessCpus { inherited: both.clone(), usable: both, set_apart: Vec::new() };
        assert!(!part.is_cut);
        let output = all_errors(part, &cpus).to_string();
        let places: Vec<&str> =
            output.lines().skip(1).filter_map(|line| line.trim().split(": ").next()).collect();
        let expected = [
            "plan.toml:1:1",
            "plan.toml:3:1",
            "plan.toml:4:1",
            "plan.toml:5:10",
            "plan.toml:6:1",
            "plan.toml:7:1",
            "plan.toml:8:8",
            "plan.toml:10:9",
            "plan.toml:10:23",
            "plan.toml:11:11",
            "plan.toml:13:10",
            "plan.toml:15:7",
            "plan.toml:17:1",
            "plan.toml:18:1",
        ];
        assert_eq!(places, expected, "{output}");
        assert!(output.starts_with("14 errors in the plan\n"), "{output}");
    }

    /// Where the kernel is wrong, that there is none is no error of the settings of the lab.
    #[test]
    fn what_follows_from_another_error_is_none() {
        for (text, place) in [
            ("[measure]\nkernel = 'debian:nosuch'\nsmp = 2\n", "plan.toml:2:1: "),
            ("[measure]\nprobe = 'nosuch'\nmethod = 'fork'\n", "plan.toml:2:1: "),
        ] {
            let output = read(text).map(|points| points.len()).unwrap_err();
            assert!(output.starts_with(place) && output.lines().count() == 1, "{output}");
        }
        let output = read("[measure]\nsmp = 2\nmips = 500\n").map(|points| points.len());
        let output = output.unwrap_err();
        assert!(output.starts_with("2 errors in the plan\n  plan.toml:2:1: 'smp' is "), "{output}");
    }

    #[test]
    fn what_a_flag_refuses_is_named_where_it_stands() {
        for (text, output) in [
            (
                "[measure]\npriority = 3",
                "plan.toml:2:1: unknown flag 'priority': did you mean 'prio'?",
            ),
            (
                "[measure]\nsampels = 3",
                "plan.toml:2:1: unknown flag 'sampels': did you mean 'samples'?",
            ),
            (
                "[measure]\nxyzzy = 3",
                "plan.toml:2:1: unknown flag 'xyzzy': a setting is a long flag of teiji measure or \
                 teiji lab run, without its dashes",
            ),
            (
                "[measure]\nprobe = 'nosuch'",
                "plan.toml:2:1: unknown probe 'nosuch': expected one of cyclic, ",
            ),
            ("[measure]\nprio = 'high'", "plan.toml:2:1: invalid value 'high' for '--prio <PRIO>'"),
            (
                "[vary]\ninterval = ['1ms', 'soon']",
                "plan.toml:2:20: invalid value 'soon' for '--interval <TIME>'",
            ),
            ("[vary]\nload = ['cpu', 'cup']", "plan.toml:2:16: load=cup: unknown load 'cup'"),
            ("[vary]\nload = ['cpu@0%']", "plan.toml:2:9: "),
            ("[measure]\ncatch-up = 'yes'", "plan.toml:2:1: "),
            (
                "[measure]\nprio = false",
                "plan.toml:2:1: 'prio' takes a value; to leave it out, write \"none\"",
            ),
            ("[measure]\nprio = true", "plan.toml:2:1: a value is required for '--prio <PRIO>'"),
            (
                "[measure]\npolicy = 'other'\n[vary]\nprio = [80]",
                "plan.toml:2:1: SCHED_OTHER takes no priority: write policy",
            ),
            ("[vary]\ncpus = ['0', '7']", "plan.toml:2:14: cpus=7: CPU 7 cannot be used"),
            // Named where it stands, and not where the combination ends.
            (
                "[measure]\ncpus = '9'\n[vary]\nprio = [10, 20]",
                "plan.toml:2:1: prio=10: CPU 9 cannot be used",
            ),
            (
                "[vary]\nkernel = ['/nope/bzImage']\ninterval = ['1ms', '2ms']",
                "plan.toml:2:11: kernel=/nope/bzImage interval=1ms: ",
            ),
            (
                "[vary]\nload = ['cpu', 'cpu,cpus=9']\ninterval = ['1ms', '2ms']",
                "plan.toml:2:16: load=cpu,cpus=9 interval=1ms: ",
            ),
            (
                "[measure]\nsmp = 2",
                "plan.toml:2:1: 'smp' is for the lab, and this combination has no kernel",
            ),
            (
                "[measure]\nsmp = 5\n[vary]\nkernel = ['debian:amd64']",
                "plan.toml:2:1: kernel=debian:amd64: 5 CPUs ",
            ),
            (
                "[measure]\nqemu = 'system'",
                "plan.toml:2:1: 'qemu' is for the lab, and this combination has no kernel",
            ),
            (
                "[measure]\nqemu = 'nowhere/qemu'\n[vary]\nkernel = ['debian:amd64']\ntitle = \
                 ['a']",
                "plan.toml:2:1: kernel=debian:amd64 title=a: --qemu nowhere/qemu: there is no \
                 such file",
            ),
            (
                "[measure]\nphase = 17",
                "plan.toml:2:1: 'phase' is for the lab, and this combination has no kernel",
            ),
            (
                "[vary]\nphase = '1..3'\ntime = ['virtual', 'host']\nkernel = ['debian:amd64']",
                "plan.toml:2:9: phase=1 time=host kernel=debian:amd64: phases need virtual time",
            ),
            (
                "[measure]\nphase = '1..3'\nkernel = 'debian:amd64'",
                "plan.toml:2:1: invalid value '1..3' for '--phase <PHASE>'",
            ),
            ("[vary]\nkernel = ['debian:nosuch']", "plan.toml:2:11: invalid value 'debian:nosuch'"),
            ("[measure]\nsamples = 5\nduration = '3s'", "plan.toml:"),
            (
                "[measure]\nprio = 3\nduration = 'forever'",
                "plan.toml:3:1: a run of a plan or in a guest ends by itself: ",
            ),
            (
                "[measure]\nduration = 'forever'\n[vary]\nkernel = ['debian:amd64']\ntitle = ['a']",
                "plan.toml:2:1: kernel=debian:amd64 title=a: a run of a plan or in a guest ends \
                 by itself: ",
            ),
            (
                "[measure]\nwarmup = '25h'\nprio = 3",
                "plan.toml:2:1: a warm-up of 25h is too long: at most 24h",
            ),
            (
                "[measure]\nwarmup = '9223372036s'\nprio = 3",
                "plan.toml:2:1: invalid value '9223372036s' for '--warmup <TIME>': ",
            ),
            (
                "[vary]\naligned = ['1ms', '2h']\nprio = [3, 4]",
                "plan.toml:2:19: aligned=2h prio=3: a shift between ",
            ),
            // By what the error is about, where its text has no value of the plan, or that of
            // another setting.
            (
                "[measure]\ndistance = '2h'\nthreads = 2\n[vary]\nprio = [10, 20]",
                "plan.toml:2:1: prio=10: an interval of ",
            ),
            (
                "[measure]\nduration = '87000h'\ninterval = '1ms'\nthreads = 1\n[vary]\nkernel = \
                 ['debian:amd64']\ntitle = ['512']",
                "plan.toml:2:1: kernel=debian:amd64 title=512: 313200000000 samples make a \
                 recording",
            ),
        ] {
            let Err(error) = read(text).map(|points| points.len()) else {
                panic!("{text}\nwas not refused")
            };
            assert!(error.starts_with(output), "{text}\nsaid: {error}\nnot:  {output}");
        }
    }
}
