// SPDX-License-Identifier: MIT OR Apache-2.0
//! `teiji tune`: change what costs latency on this machine, and put it back.

mod boot;
mod command;
mod meanwhile;
mod prove;
mod prove_block;
mod prove_change;
mod prove_text;
mod signals;
mod text;

use crate::exit::{CommandResult, DONE, Failure, RUN_FAILED};
use crate::output;
use anyhow::anyhow;
use check::Advice;
use host::HostRoot;
use plan::{CpuId, CpuList};
use prove::ProveFlags;
use signals::Signals;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
pub use text::{cpu_words, root_flag};
use tune::{ChangeResult, KilledTuning, LoaderPlace, Tuning, TuningOptions, TuningPlan};

#[derive(clap::Args)]
#[command(after_help = "What was there before is in a journal in /var/lib/teiji/tune \
                        (TEIJI_STATE=DIR names another folder) before the first change. A call \
                        that was killed is put right by the next one. Exit codes: 0 done; 2 \
                        usage; 4 a setting or a file could not be changed or put back. With a \
                        COMMAND: its own exit code, 128 + N where signal N ended it, or 4 as \
                        above where it ended with 0.")]
pub struct Args {
    /// CPUs that are to be on time; with --plan, --boot or a COMMAND [default: those that are
    /// set apart, or all]
    #[arg(short = 'a', long, value_name = "LIST")]
    cpus: Option<CpuList>,

    /// Show each change, why and at what risk, and change nothing
    #[arg(long, conflicts_with_all = ["undo", "command"])]
    plan: bool,

    /// Print the kernel's arguments for these CPUs, against those of this boot, and where they are
    /// written
    #[arg(long, conflicts_with_all = ["plan", "also", "only", "except", "command"])]
    boot: bool,

    /// With --boot: write them there, with a backup beside the file. What is to be run then is
    /// printed, not run
    #[arg(long, requires = "boot", conflicts_with = "undo")]
    write: bool,

    /// With --write: the boot loader whose files are written, where several are here: grub,
    /// systemd-boot, cmdline.txt or u-boot, which is read and not written
    #[arg(long, value_name = "NAME", requires = "write", value_parser = boot::place)]
    place: Option<LoaderPlace>,

    /// Put back what was changed; with --boot, what --write has written, which a reboot does not
    /// undo
    #[arg(long, conflicts_with_all = ["cpus", "also", "only", "except", "command"])]
    undo: bool,

    /// With --undo: put back what somebody else has changed meanwhile, too, and forget what cannot
    /// be put back
    #[arg(long, requires = "undo")]
    force: bool,

    /// Measure each change by itself, on and off in turn, and make only those that help
    #[arg(long, conflicts_with_all = ["plan", "boot", "undo", "command"])]
    prove: bool,

    /// Make these changes too, by the names of their checks: rt-throttling, threads-above,
    /// interrupt-threads, turbo
    #[arg(long, value_name = "CHECK", value_delimiter = ',')]
    also: Vec<String>,

    /// Make these changes alone, by the names of their checks
    #[arg(long, value_name = "CHECK", value_delimiter = ',')]
    only: Vec<String>,

    /// Leave these out, by the names of their checks, as in --except idle-states,watchdogs
    #[arg(long, value_name = "CHECK", value_delimiter = ',')]
    except: Vec<String>,

    /// Files of another machine, below a directory that stands for its /
    #[arg(long, value_name = "DIR", default_value = "/")]
    root: PathBuf,

    /// Print JSON instead
    #[arg(long, conflicts_with = "command")]
    json: bool,

    /// Change the settings while this runs, and put them back when it ends
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,

    #[command(flatten)]
    measured: ProveFlags,
}

impl Args {
    /// Whether it neither changes settings nor puts them back.
    pub fn leaves_settings(&self) -> bool {
        self.plan || self.boot
    }

    /// The flags that choose a machine and changes, as they were given.
    fn chosen(&self) -> String {
        let lists = [("also", &self.also), ("only", &self.only), ("except", &self.except)];
        let given = lists.into_iter().filter(|(_, names)| !names.is_empty());
        let given: String =
            given.map(|(flag, names)| format!(" --{flag} {}", names.join(","))).collect();
        text::root_flag(&self.root) + &given
    }
}

/// CPUs that could be named on this machine.
fn example_cpus(root: &HostRoot) -> Vec<CpuId> {
    let advised = Advice::for_machine(root, None)
        .map(|advice| advice.isolated)
        .filter(|cpus| !cpus.is_empty());
    advised.unwrap_or_else(|| check::cpus_on_time(root, None))
}

/// Puts back what a killed call left on this machine, and says so.
pub fn put_right_killed() {
    let root = HostRoot::system();
    // None where there is no journal, which is nearly always.
    let Some(command) = KilledTuning::command(&root) else { return };
    if let Some(killed) = KilledTuning::put_right(&root) {
        output::complain(&text::killed(killed, &command));
    }
}

/// Removes the tracing that a killed call left on this machine, and says so.
pub fn remove_left_tracing() {
    let said = match runner::remove_left_tracing() {
        None => return,
        Some(Ok(1)) => "note: the trace of a teiji that was killed removed".to_owned(),
        Some(Ok(count)) => format!("note: {count} traces of teiji that were killed removed"),
        Some(Err(error)) => format!("note: the trace of a teiji that was killed left: {error}"),
    };
    output::complain(&said);
}

/// The root directory of a machine.
pub fn host_root(path: &Path) -> Result<HostRoot, Failure> {
    let root = HostRoot::at(path);
    if !root.path("proc").is_dir() {
        refuse!("{} has no proc: it is not the / of a machine", path.display());
    }
    Ok(root)
}

pub fn run(args: &Args) -> CommandResult {
    let root = host_root(&args.root)?;
    if let Some(flag) = args.measured.first_given().filter(|_| !args.prove) {
        refuse!("{flag} is for --prove");
    }
    if args.undo {
        return if args.boot { boot::undo(&root, args) } else { undo(&root, args) };
    }
    if args.cpus.is_none() && !args.plan && !args.boot && args.command.is_empty() {
        let example = example_cpus(&root);
        refuse!(
            "no CPUs named: teiji tune --plan shows what would be changed, sudo teiji tune --cpus \
             {} changes it for {}",
            CpuList::format(&example),
            text::cpu_words(&example)
        );
    }
    let cpus = args.cpus.as_ref().map(|list| list.resolve(&root.online_cpus())).transpose()?;
    if args.boot {
        return boot::run(&root, args, cpus);
    }
    let options = TuningOptions {
        cpus,
        also: args.also.clone(),
        only: args.only.clone(),
        except: args.except.clone(),
        priority: args.measured.priority(),
    };
    // What is asked for wrongly changes nothing, not even what an earlier call left.
    let plan = planned(&root, &options)?;
    if args.plan {
        output::say(&if args.json {
            format!("{:#}\n", text::plan_as_json(&plan))
        } else {
            text::plan(&plan, &args.chosen())
        });
        return Ok(DONE);
    }
    if args.prove {
        return prove::run(&root, args, &options);
    }
    apply(&root, args, &options)
}

fn planned(root: &HostRoot, options: &TuningOptions) -> Result<TuningPlan, Failure> {
    Ok(TuningPlan::new(root, options).map_err(|error| anyhow!(error))?)
}

/// Whether something could not be changed or put back.
fn has_failed(results: &[ChangeResult]) -> bool {
    results.iter().any(|result| result.obstacle.is_some() && !result.is_expected)
}

/// Says what stands in the way.
fn complain_of(results: &[ChangeResult], what: &str) {
    for ChangeResult { file, obstacle, is_expected } in results {
        match obstacle {
            Some(obstacle) if *is_expected => {
                complain!("note: {what}: /{file}: {obstacle}")
            }
            Some(obstacle) => complain!("error: {what}: /{file}: {obstacle}"),
            None => {}
        }
    }
}

fn apply(root: &HostRoot, args: &Args, options: &TuningOptions) -> CommandResult {
    let is_for_command = !args.command.is_empty();
    let signals = Signals::catch(is_for_command)?;
    let mut tuning = Tuning::begin(root)?;
    let mut failed = put_right(&mut tuning)?;
    // Only now does the machine say what it is like without what was killed.
    let plan = planned(root, options)?;
    say_what_stays(&tuning);
    let results = apply_plan(&mut tuning, &plan, !is_for_command, &signals)?;
    failed |= has_failed(&results);
    for note in &plan.notes {
        complain!("note: {note}");
    }
    if is_for_command {
        output::complain(&text::applied(&plan, &results, ""));
        let ended = command::run(&args.command, &signals);
        let changed_meanwhile = tuning.changed_meanwhile(&plan, &results);
        let back = put_back_unfinished(&mut tuning)?;
        meanwhile::say(&changed_meanwhile, &back);
        failed |= has_failed(&back);
        let code = ended?;
        return Ok(if code == 0 && failed { RUN_FAILED } else { code });
    }
    if args.json {
        say!("{:#}\n", text::applied_as_json(&plan, &results));
    } else {
        let undo = format!(
            " Undo: sudo teiji tune --undo{}. A reboot undoes it too.",
            text::root_flag(&args.root)
        );
        say!("{}\n", text::applied(&plan, &results, &undo));
    }
    Ok(if failed { RUN_FAILED } else { DONE })
}

/// Makes the changes of a plan, or none of them where a signal comes.
fn apply_plan(
    tuning: &mut Tuning,
    plan: &TuningPlan,
    is_to_stay: bool,
    signals: &Signals,
) -> Result<Vec<ChangeResult>, Failure> {
    let results = tuning.apply(plan, is_to_stay, &|| signals.caught().is_some())?;
    if let Some(signal) = signals.caught() {
        put_back_unfinished(tuning)?;
        return Err(Failure::run_failed(anyhow!(
            "ended by {signal} before all was changed. What was changed is put back"
        )));
    }
    complain_of(&results, "not changed");
    Ok(results)
}

/// Puts back what an earlier call has left that is not to stay: one that was killed, or could not
/// put back. Whether that failed.
fn put_right(tuning: &mut Tuning) -> Result<bool, Failure> {
    let results = put_back_unfinished(tuning)?;
    let back = results.iter().filter(|result| result.obstacle.is_none()).count();
    if back > 0 {
        complain!("note: {} of an earlier teiji tune put back first", text::settings(back));
    }
    Ok(has_failed(&results))
}

/// On top of what the changes are made.
fn say_what_stays(tuning: &Tuning) {
    let count = tuning.staying();
    if count > 0 {
        complain!(
            "note: {} of an earlier teiji tune {}",
            text::settings(count),
            if count == 1 { "stays" } else { "stay" }
        );
    }
}

/// Puts back what is not to stay, and says what could not be.
fn put_back_unfinished(tuning: &mut Tuning) -> Result<Vec<ChangeResult>, Failure> {
    let results = settled(tuning.undo_unfinished())?;
    complain_of(&results, "not put back");
    Ok(results)
}

/// What was put back and what was not is said, also where the journal cannot be written.
fn settled(
    undone: Result<Vec<ChangeResult>, tune::TuningError>,
) -> Result<Vec<ChangeResult>, Failure> {
    undone.map_err(|error| {
        if let tune::TuningError::NotSettled { results, .. } = &error {
            complain_of(results, "not put back");
            let back = results.iter().filter(|result| result.obstacle.is_none()).count();
            complain!("note: {} of {} put back", back, text::settings(results.len()));
        }
        error.into()
    })
}

/// Puts everything back, and says what could not be.
fn put_back(tuning: &mut Tuning, is_forced: bool) -> Result<Vec<ChangeResult>, Failure> {
    let results = settled(tuning.undo(is_forced))?;
    complain_of(&results, "not put back");
    Ok(results)
}

fn undo(root: &HostRoot, args: &Args) -> CommandResult {
    let (mut results, mut rebooted) = (Vec::new(), false);
    if tune::has_been_tuned(root) {
        // Asked to end, it ends when all is put back.
        let _signals = Signals::catch(false)?;
        let mut tuning = Tuning::begin(root)?;
        rebooted = tuning.was_rebooted();
        results = put_back(&mut tuning, args.force)?;
    }
    if let Some(folder) = tune::journal_passed_over(root) {
        complain!(
            "note: what teiji tune changed by the journal in {} stays. Put back: sudo teiji tune \
             --undo, without TEIJI_STATE",
            folder.display()
        );
    }
    if args.json {
        say!("{:#}\n", text::undone_as_json(&results, rebooted));
    } else {
        output::say(&text::undone(&results, rebooted, args.force));
    }
    Ok(if has_failed(&results) { RUN_FAILED } else { DONE })
}
