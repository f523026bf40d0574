// SPDX-License-Identifier: MIT OR Apache-2.0
//! `teiji run`: a plan, which is every combination of its factors, in one folder.

mod can_begin;
mod duration;
mod execute;
mod flags;
mod plan_entry;
mod policies;
mod programs;
mod progress;
mod resumption;
pub mod settings;
mod shipped;
mod table;

pub use resumption::resumption;
pub use shipped::{PLANS as SHIPPED, about, text as shipped_text};
pub use table::{Begun, Made, TableDetail, fill, is_folder, limits, table, text};

use crate::commands::lab::{chosen_qemu, kernel_of};
use crate::commands::measure::{of_cpus, process_cpus, warn};
use crate::exit::{CommandResult, DONE, Failure, RUN_FAILED};
use crate::live::Display;
use crate::output::{self, counted};
use crate::signals;
use crate::suggestion::{Word, command};
use anyhow::{Context, anyhow};
use can_begin::{all_can_begin, divided, measurable};
use execute::Work;
use executor::{Boot, PlanResult, PlannedBoot, RecordingState, ResultsFolder};
use lab::{KernelName, Slowdown};
use plan::{AUTO_PROBE, PartOfPlan, Plan, PlannedRun, Qemu, Value};
use plan_entry::PlanEntry;
use report::Language;
use runner::Signals;
use settings::points;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

#[derive(clap::Args)]
pub struct Args {
    /// The plan: a file, or the name of a shipped one (teiji plans)
    #[arg(value_name = "PLAN", required_unless_present = "resume", conflicts_with = "resume")]
    plan: Option<PathBuf>,
    /// Resume the plan in this folder: run what is missing
    #[arg(long, value_name = "DIR", conflicts_with_all = ["output", "dry_run"])]
    resume: Option<PathBuf>,
    /// Use the plan's short form, its table [quick], each combination once
    #[arg(long, conflicts_with = "resume")]
    quick: bool,
    /// Run on this machine under its present kernel, without the plan's kernels and other settings
    /// of the lab. Leaves out runs that this machine cannot measure, and says why. After booting
    /// another kernel, the same command adds that boot's runs to the folder, and says which boots
    /// are still missing
    #[arg(long, conflicts_with = "resume")]
    here: bool,
    /// Check the plan, and print its runs in their order and about how long they take, without
    /// running any. Exit code 0: it can run here
    #[arg(long)]
    dry_run: bool,
    /// The folder for the results; must not exist, but with --here may hold other boots [default:
    /// NAME-DATE-TIME, by the plan's name]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Guests of the lab at once [default: as many as this machine has CPUs; 1 with time = "host"]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    jobs: Option<u32>,
    /// Show no progress
    #[arg(short, long)]
    quiet: bool,
    /// Show a full screen during each run, as teiji measure --live does
    #[arg(long, conflicts_with_all = ["dry_run", "quiet"])]
    live: bool,
}

pub fn run(args: &Args) -> CommandResult {
    let display = Display::asked(args.live, args.quiet)?;
    match (&args.plan, &args.resume) {
        (_, Some(folder)) => resume(args, folder, display),
        (Some(path), None) if args.dry_run => dry_run(args, path),
        (Some(path), None) if args.here => run_here(args, path, display),
        (Some(path), None) => begin(args, path, display),
        (None, None) => Err(anyhow!("name a plan").into()),
    }
}

/// Of a plan with errors all are said, also those of what could be read.
fn read(path: &Path, here: bool) -> anyhow::Result<Plan> {
    let part = Plan::read_in_part(path, &mut shipped::read);
    if part.errors.is_empty() && part.plan.errors_of_quick().is_empty() {
        return Ok(part.plan);
    }
    let with_kernels = part.plan.clone().with_kernels_of(&|name| std::env::var(name).ok());
    let plan = with_kernels.map_or_else(|_| part.plan.clone(), |(plan, _)| plan);
    let plan = if here { plan.without(&settings::lab_settings()) } else { plan };
    Err(settings::all_errors(PartOfPlan { plan, ..part }, &process_cpus()?).into())
}

/// The plan in the form that was asked for.
fn asked(args: &Args, path: &Path, say: &mut dyn FnMut(&str)) -> anyhow::Result<Plan> {
    let plan = read(path, args.here)?;
    let plan = if args.quick { plan.quick()? } else { plan };
    with_kernels(plan, args.here, say)
}

/// The whole plan as this boot has it.
fn here(whole: &Plan, planned_boots: &[PlannedBoot], boot: &Boot) -> anyhow::Result<Plan> {
    once_here(in_boot(whole, planned_boots, boot))
}

/// The whole plan as a boot has it, but for the probe `auto`.
fn in_boot(whole: &Plan, planned_boots: &[PlannedBoot], boot: &Boot) -> Plan {
    let settings = PlannedBoot::of(planned_boots, boot).map(PlannedBoot::settings);
    whole.clone().in_boot(&settings::lab_settings(), settings.as_ref())
}

/// The plan without the probe `auto` where it is another one that the plan names too: what a plan
/// excludes under some kernels is not known here, and both would measure the same.
fn once_here(plan: Plan) -> anyhow::Result<Plan> {
    let points = checked(&plan)?.into_iter();
    let mut runs = points.filter_map(|point| Some((point.run?, point.measured)));
    let Some((mut run, flags)) = runs.find(|(run, _)| run.probe == AUTO_PROBE) else {
        return Ok(plan);
    };
    // A core that refuses is said where the runs begin.
    let chosen = flags.chosen_probe().and_then(|probe| probe.here(&mut run));
    if chosen.is_err() || !plan.varies("probe", &run.probe) {
        return Ok(plan);
    }
    Ok(plan.without_value("probe", AUTO_PROBE))
}

/// The plan with the kernels that the environment names. It is said which it does not.
fn with_kernels(plan: Plan, here: bool, say: &mut dyn FnMut(&str)) -> anyhow::Result<Plan> {
    let (plan, left_out) = plan.with_kernels_of(&|name| std::env::var(name).ok())?;
    for name in left_out {
        say(&if here {
            format!("kernel={name} is the kernel that you boot. The variable need not be set")
        } else {
            format!(
                "Left out: kernel={name}. The variable names no kernel. Set it to the path of an \
                 image"
            )
        });
    }
    Ok(plan)
}

fn checked(plan: &Plan) -> anyhow::Result<Vec<PlanEntry>> {
    Ok(points(plan, &process_cpus()?)?)
}

/// Gets the QEMUs of all guests whose machine is known, where they have to be fetched.
fn fetch_qemus(points: &[PlanEntry], quiet: bool) -> Result<(), Failure> {
    for point in points {
        let Some(kernel) = &point.kernel else { continue };
        for guest in point.guest.guests(std::slice::from_ref(kernel))? {
            chosen_qemu(point.guest.qemu(), guest.machine, quiet)?;
        }
    }
    Ok(())
}

/// Begun from nothing: the clock is as good as dice. Within what TOML holds.
pub fn new_seed() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos() % (1 << 52)).unwrap_or(0)
}

/// What a plan is called: `desktop-4.19` is no file `desktop-4` with an ending.
fn stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.strip_suffix(".toml").unwrap_or(&name).to_owned()
}

/// How large a plan is, and what keeps it from beginning on this machine.
pub fn size(path: &Path) -> anyhow::Result<(String, Option<String>)> {
    let plan = with_kernels(read(path, false)?, false, &mut |_| ())?;
    let points = checked(&plan)?;
    let runs = plan.order.runs(points.len(), 0);
    let varied: Vec<&str> = plan.vary.iter().map(|factor| factor.key.as_str()).collect();
    let of =
        if varied.is_empty() { String::new() } else { format!(", varying {}", varied.join(", ")) };
    Ok((
        format!("{}{of}", counted(runs.len(), "run")),
        all_can_begin(points.iter()).err().map(|failure| failure.to_string()),
    ))
}

fn dry_run(args: &Args, path: &Path) -> CommandResult {
    let whole = asked(args, path, &mut |text| {
        if !args.here {
            output::complain(text);
        }
    })?;
    let boot = args.here.then(Boot::now).transpose().map_err(Failure::run_failed)?;
    let boot = match boot {
        Some(boot) => Some((planned_boots(&whole)?, boot)),
        None => None,
    };
    let plan = match &boot {
        Some((planned_boots, boot)) => here(&whole, planned_boots, boot)?,
        None => whole.clone(),
    };
    let points = checked(&plan)?;
    let folder = match (&args.output, &boot) {
        (Some(root), Some((planned_boots, boot))) => {
            let begun = boots_of_plan(root, path, &whole, planned_boots);
            begun.map(|(boots, seed)| {
                let seed = (!boots.is_empty()).then_some(seed);
                let own = boots.into_iter().find(|(_, known)| known == boot);
                (own.map(|(folder, _)| folder), seed)
            })
        }
        (Some(root), None) => require_new(root).map(|()| (None, None)),
        (None, _) => Ok((None, None)),
    };
    let (own, seed) = folder.as_ref().map_or((None, None), |(own, seed)| (own.as_ref(), *seed));
    let known_seed = seed.or(plan.order.seed);
    let seed = known_seed.unwrap_or_else(new_seed);
    let runs = plan.order.runs(points.len(), seed);
    let is_missing = |place: &usize| -> anyhow::Result<bool> {
        let Some(own) = own else { return Ok(true) };
        let label = &points[runs[*place].combination].label;
        let recording = executor::recording(own, *place, runs.len(), label);
        Ok(executor::find_recording(&recording)? != RecordingState::Done)
    };
    let mut missing = Vec::with_capacity(runs.len());
    for place in 0..runs.len() {
        if is_missing(&place)? {
            missing.push(place);
        }
    }
    let are_all = missing.len() == runs.len();
    let here = args.here.then(|| divided(missing.clone(), |run| &points[runs[run].combination]));
    // Where nothing can be measured, it is said why, and of what.
    let measured: Vec<usize> = match &here {
        Some((some, _)) if !some.is_empty() || !are_all => some.clone(),
        _ => missing.clone(),
    };
    let mut text = String::new();
    let width = runs.len().to_string().len();
    for (place, run) in runs.iter().enumerate() {
        let left_out = match (missing.binary_search(&place), measured.binary_search(&place)) {
            (Err(_), _) => "  recorded",
            (_, Err(_)) => "  left out",
            _ => "",
        };
        let repeat =
            if plan.order.repeat > 1 { format!("  repeat {}", run.repeat) } else { String::new() };
        let label = match points[run.combination].label.as_str() {
            "" => "settings of [measure]",
            label => label,
        };
        text += &format!("{:>width$}  {label}{repeat}{left_out}\n", place + 1);
    }
    let will_run: Vec<PlannedRun> = measured.iter().map(|place| runs[*place]).collect();
    let combinations: BTreeSet<usize> = will_run.iter().map(|run| run.combination).collect();
    let of = |n: usize, what: &str| {
        if n == 0 { String::new() } else { format!(", {n} {what}") }
    };
    let mut summary = format!(
        "{} of {}{}{}",
        counted(will_run.len(), "run"),
        counted(combinations.len(), "combination"),
        of(missing.len() - will_run.len(), "left out"),
        of(runs.len() - missing.len(), "recorded"),
    );
    if !will_run.is_empty() {
        let time = duration::text(&points, &will_run, args.jobs, Slowdown::now);
        summary += &format!("; {time}");
    }
    text += &output::indented(&summary, 0);
    if plan.order.shuffle && known_seed.is_none() {
        text += "The plan names no seed: each start shuffles the runs anew.\n";
    }
    programs::listed(&points).iter().for_each(|line| text += &format!("{line}\n"));
    if let Some((planned_boots, boot)) = &boot {
        text.extend(unplanned(planned_boots, boot));
    }
    output::say(&text);
    // What cannot begin here shows in the exit code too, after the list: that is of use on another
    // machine.
    let can_begin = match here {
        Some(here) => measurable(here, are_all).map(drop),
        None => all_can_begin(points.iter()),
    };
    can_begin.map_err(|missing| missing.within("it cannot run here"))?;
    folder.map(|_| DONE)
}

/// Refuses the folder of a plan that was begun.
fn require_new(output: &Path) -> Result<(), Failure> {
    if output.symlink_metadata().is_ok() {
        refuse!(
            "{} exists already: choose another name with -o, or resume it: --resume",
            output.display()
        );
    }
    Ok(())
}

fn begin(args: &Args, path: &Path, display: Display) -> CommandResult {
    let mut plan = asked(args, path, &mut output::complain)?;
    let points = checked(&plan)?;
    programs::announce(&points);
    all_can_begin(points.iter())?;
    let output = args.output.clone().unwrap_or_else(|| output::new_name(&stem(path), ""));
    require_new(&output)?;
    name_files(&mut plan, args.quiet).map_err(Failure::run_failed)?;
    fetch_qemus(&checked(&plan)?, args.quiet)?;
    // Only now: while a kernel is got nothing has begun, and a signal may end the program as ever.
    let signals = signals::catch()?;
    let text = plan.as_run(plan.order.seed.unwrap_or_else(new_seed));
    // Read back, as it will be whenever somebody goes on with it: two names of one kernel, say, are
    // one value from here on.
    let plan = Plan::read(path, &mut |_| Ok(text.clone()))?;
    let points = checked(&plan)?;
    let runs = runs(&plan, points.len())?;
    let folder = ResultsFolder::create(&output, &plan, &text, &labels(&points), &runs, None)?;
    execute(args, display, &folder, &points, &runs, &signals, false)
}

fn labels(points: &[PlanEntry]) -> Vec<String> {
    points.iter().map(|point| point.label.clone()).collect()
}

/// The boots that are in this folder, and the seed of all of them.
fn boots_of_plan(
    root: &Path,
    path: &Path,
    whole: &Plan,
    planned_boots: &[PlannedBoot],
) -> Result<(Vec<(PathBuf, Boot)>, u64), Failure> {
    let others = executor::boots(root)?;
    let Some((folder, other)) = others.first() else {
        return Ok((others, whole.order.seed.unwrap_or_else(new_seed)));
    };
    // All boots in one order, and of one plan: otherwise it is not the kernel they differ in.
    let begun = executor::read_plan(folder)?;
    let seed = begun.order.seed.unwrap_or_else(new_seed);
    let text = in_boot(whole, planned_boots, other).as_run(seed);
    let now = Plan::read(path, &mut |_| Ok(text.clone()))?;
    if without_auto(&begun, seed) != without_auto(&now, seed) {
        refuse!(
            "{} was started with another plan than {}: choose another name with -o",
            root.display(),
            path.display()
        );
    }
    Ok((others, seed))
}

/// What this boot can measure, in a folder of its own among those of other boots.
fn run_here(args: &Args, path: &Path, display: Display) -> CommandResult {
    let whole = asked(args, path, &mut output::complain)?;
    let planned_boots = planned_boots(&whole)?;
    let boot = Boot::now().map_err(Failure::run_failed)?;
    let plan = here(&whole, &planned_boots, &boot)?;
    let points = checked(&plan)?;
    programs::announce(&points);
    if let Some(text) = unplanned(&planned_boots, &boot) {
        complain!("{}", text.trim_end());
    }
    let root = args.output.clone().unwrap_or_else(|| output::new_name(&stem(path), ""));
    let (others, seed) = boots_of_plan(&root, path, &whole, &planned_boots)?;
    let text = plan.as_run(seed);
    let plan = Plan::read(path, &mut |_| Ok(text.clone()))?;
    let signals = signals::catch()?;
    let own = boot.folder(&root)?;
    let runs = runs(&plan, points.len())?;
    recording::within(&own)?;
    let folder = if own.exists() {
        ResultsFolder::open(&own)
    } else {
        ResultsFolder::create(
            &own,
            &plan,
            &text,
            &labels(&points),
            &runs,
            Some((&boot, &planned_boots)),
        )
    };
    let outcome = execute(args, display, &folder?, &points, &runs, &signals, true)?;
    let made: Vec<Boot> = others.into_iter().map(|(_, other)| other).chain([boot]).collect();
    let mut again: Vec<&dyn Word> = vec![&"run", &"--here"];
    if args.quick {
        again.push(&"--quick");
    }
    again.extend([&path as &dyn Word, &"-o", &root]);
    let again = command(&again);
    say_boots(&root, &again, &planned_boots, &made);
    Ok(outcome)
}

/// The plan as it is in each of its boots: which combinations are left out or added, and which
/// probe auto is, differs from boot to boot.
pub fn in_each_boot(plan: &Plan, seed: u64) -> String {
    let mut plan = plan.clone();
    plan.exclude.clear();
    plan.include.clear();
    without_auto(&plan, seed)
}

fn without_auto(plan: &Plan, seed: u64) -> String {
    plan.clone().without_value("probe", AUTO_PROBE).as_run(seed)
}

/// The boots that a plan asks for.
fn planned_boots(whole: &Plan) -> anyhow::Result<Vec<PlannedBoot>> {
    PlannedBoot::from_plan(whole, &settings::lab_settings())
}

/// What is to be known of a boot that the plan does not ask for.
fn unplanned(planned_boots: &[PlannedBoot], boot: &Boot) -> Option<String> {
    let asked: Vec<String> = planned_boots.iter().map(ToString::to_string).collect();
    let text = format!(
        "This boot, {}, is none that the plan asks for: {}. It is measured beside them.",
        boot.kernel,
        asked.join("; ")
    );
    (!PlannedBoot::includes(planned_boots, boot)).then(|| output::indented(&text, 0))
}

/// Which boots are there, and which are not. `again`: the command for those.
fn say_boots(root: &Path, again: &str, planned_boots: &[PlannedBoot], made: &[Boot]) {
    let name = |boot: &Boot| {
        let is_planned = PlannedBoot::includes(planned_boots, boot);
        format!("{}{}", boot.kernel, if is_planned { "" } else { " (not in the plan)" })
    };
    let boots: Vec<String> = made.iter().map(name).collect::<BTreeSet<_>>().into_iter().collect();
    say!("Boots in {}: {}", root.display(), boots.join(", "));
    let missing: Vec<String> =
        PlannedBoot::missing(planned_boots, made).iter().map(ToString::to_string).collect();
    if missing.is_empty() {
        say!("Next: {}", command(&[&"report", &root]));
        return;
    }
    let them = if missing.len() > 1 { "each" } else { "it" };
    say!("Still missing: {}. Boot {them}, then: {again}", missing.join("; "));
}

fn resume(args: &Args, path: &Path, display: Display) -> CommandResult {
    // Of a folder of boots, the part of this one.
    let boots = executor::boots(path).unwrap_or_default();
    let boot = Boot::now().map_err(Failure::run_failed)?;
    let path = match boots.iter().find(|(_, known)| *known == boot) {
        Some((own, _)) => own,
        None if boots.is_empty() => path,
        None => {
            let start = command(&[&"run", &"--here", &"PLAN", &"-o", &path]);
            refuse!(
                "nothing of this boot ({}) is in {}: start with {start}",
                boot.kernel,
                path.display()
            );
        }
    };
    let own = executor::boot(path);
    if let Some(other) = own.as_ref().filter(|own| **own != boot) {
        refuse!("{} is of another boot ({}): boot that", path.display(), other.kernel);
    }
    let folder = ResultsFolder::open(path)?;
    let plan = executor::read_plan(folder.path())?;
    let points = checked(&plan)?;
    programs::announce(&points);
    let signals = signals::catch()?;
    let runs = runs(&plan, points.len())?;
    execute(args, display, &folder, &points, &runs, &signals, own.is_some())
}

/// The runs of a plan that was begun, in order.
fn runs(plan: &Plan, combinations: usize) -> anyhow::Result<Vec<PlannedRun>> {
    let seed = plan.order.seed.with_context(|| {
        format!("{} has no seed: it was cut off while it was written", plan.at.file.display())
    })?;
    Ok(plan.order.runs(combinations, seed))
}

/// Gives each kernel its full name, with the version that is there, and gets those that are not:
/// whoever goes on with the plan next week is to have the same ones. Files get their full paths, to
/// be found from anywhere.
fn name_files(plan: &mut Plan, quiet: bool) -> anyhow::Result<()> {
    let varied = plan.vary.iter_mut().flat_map(|factor| &mut factor.values);
    let settings = plan.measure.iter_mut().chain(varied).chain(plan.include.iter_mut().flatten());
    for setting in settings.chain(plan.exclude.iter_mut().flatten()) {
        let Value::Words(words) = &mut setting.value else { continue };
        let is_kernel = setting.key == "kernel";
        let is_path = ["modules", "dtb", "program"].contains(&setting.key.as_str());
        let is_qemu = setting.key == "qemu";
        for word in words.iter_mut().filter(|_| is_kernel || is_path || is_qemu) {
            if is_path || (is_qemu && matches!(word.parse(), Ok(Qemu::Path(_)))) {
                let path = std::fs::canonicalize(&*word)
                    .with_context(|| format!("{}: {word}", setting.at))?;
                *word = path.display().to_string();
                continue;
            }
            if is_qemu {
                continue;
            }
            let name: KernelName = word.parse()?;
            let found = kernel_of(&name, quiet)?;
            *word = match &name {
                KernelName::Path(path) => std::fs::canonicalize(path)?.display().to_string(),
                KernelName::Debian { .. } => found.name,
            };
        }
    }
    Ok(())
}

/// Before hours of runs on this machine: which CPUs they leave out without having been asked to,
/// and which share a core.
/// Each run's recording says it too.
fn warn_of_cpus(points: &[PlanEntry]) -> anyhow::Result<()> {
    let cpus = process_cpus()?;
    let on_this_machine = points.iter().filter(|point| point.kernel.is_none());
    let mut warnings: Vec<_> = on_this_machine
        .filter_map(|point| Some(of_cpus(&point.measured, point.run.as_ref()?, &cpus)))
        .flatten()
        .collect();
    warnings.dedup();
    for warning in warnings {
        warn(&warning);
    }
    Ok(())
}

/// `here`: what this machine cannot measure is left out.
fn execute(
    args: &Args,
    display: Display,
    folder: &ResultsFolder,
    points: &[PlanEntry],
    runs: &[PlannedRun],
    signals: &Signals,
    here: bool,
) -> CommandResult {
    warn_of_cpus(points).map_err(Failure::run_failed)?;
    let work = Work { folder, points, runs, signals, jobs: args.jobs, display, here };
    let (done, left_out, PlanResult { failed, signal, disk_failed }) = work.execute()?;
    let path = folder.path().display();
    let but = if left_out > 0 { format!(", {left_out} left out") } else { String::new() };
    say!("{done} of {} recorded{but}, in {path}/", counted(runs.len(), "run"));
    if !args.quiet && done > 0 {
        output::say(&::report::has_names("teiji anonymise", ::report::Language::English));
    }
    if done > 0 && !limits(folder.path())?.is_empty() {
        let table = table(folder.path(), TableDetail::Figures);
        if let Some(verdict) = table.map_err(Failure::run_failed)?.verdict(Language::English) {
            say!("{verdict}\nNext: {}", command(&[&"gate", &folder.path()]));
        }
    }
    let again = command(&[&"run", &"--resume", &folder.path()]);
    if let Some(signal) = signal {
        complain!("stopped by {signal}. Resume with {again}");
    }
    if disk_failed {
        complain!("stopped because nothing more can be written. Free some space, then: {again}");
    } else if failed > 0 {
        let twice = if signal.is_some() { "" } else { " twice" };
        complain!("{} failed{twice}. Try again with {again}", counted(failed, "run"));
    }
    Ok(if done + left_out == runs.len() { DONE } else { RUN_FAILED })
}
