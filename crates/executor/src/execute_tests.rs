// SPDX-License-Identifier: MIT OR Apache-2.0
//! A plan's runs without a machine: what is made, in which order, and what is tried again.

use super::*;
use anyhow::anyhow;
use model::State;
use plan::Plan;
use std::collections::BTreeMap;
use std::fs;

const PLAN: &str = "[vary]\nprio = [1, 2, 3, 4, 5, 6]\n[order]\nshuffle = true\nseed = ";

#[derive(Clone, Copy)]
enum Fate {
    Done,
    Fails,
    StarvesTheMachine,
    FillsTheDisk,
    Stopped,
    /// The machine goes down meanwhile: whoever made it sees nothing more.
    CutOff,
}

/// Makes recordings without samples.
#[derive(Default)]
struct Pretended {
    /// Of each attempt at a run; of those not named, that they are done.
    fates: BTreeMap<(usize, u32), Fate>,
    attempts: BTreeMap<usize, u32>,
    made: Vec<usize>,
    was_done: Vec<usize>,
    was_cut_short: Vec<usize>,
    failed: Vec<(usize, String)>,
    signal: Option<&'static str>,
}

impl Pretended {
    fn with(fates: &[(usize, u32, Fate)]) -> Self {
        Pretended {
            fates: fates.iter().map(|(run, attempt, fate)| ((*run, *attempt), *fate)).collect(),
            ..Pretended::default()
        }
    }

    fn make(&mut self, run: usize, path: &Path) -> anyhow::Result<Option<Recorded>> {
        self.made.push(run);
        let attempt = self.attempts.entry(run).or_default();
        *attempt += 1;
        let (state, end) = match self.fates.get(&(run, *attempt)).copied().unwrap_or(Fate::Done) {
            Fate::Done => (State::Complete, Some(End::Done)),
            Fate::Fails => return Err(anyhow!("no threads")),
            Fate::FillsTheDisk => return Err(io::Error::from(Errno::NOSPC).into()),
            Fate::StarvesTheMachine => {
                (State::Stopped, Some(End::Guard { starved_ns: 5, cpu: None }))
            }
            Fate::Stopped => {
                self.signal = Some("SIGINT");
                (State::Stopped, Some(End::Signal { name: "SIGINT".to_owned() }))
            }
            Fate::CutOff => (State::Running, None),
        };
        let mut document: Document =
            serde_json::from_str(include_str!("../../../fuzz/corpus/run_json/complete.json"))
                .unwrap();
        document.threads.clear();
        (document.state, document.end) = (state, end);
        fs::create_dir(path)?;
        fs::write(path.join("run.json"), model::document_text(&document)?)?;
        if document.state == State::Running {
            self.signal = Some("power cut");
            return Ok(None);
        }
        Ok(Some(Recorded {
            path: path.to_owned(),
            document,
            threads: Vec::new(),
            beside: Vec::new(),
            explained: None,
        }))
    }
}

impl PlanObserver for Pretended {
    fn observe(&mut self, run: usize, event: &Event<'_>) {
        match event {
            Event::WasDone(_) => self.was_done.push(run),
            Event::WasCutShort(_) => self.was_cut_short.push(run),
            Event::Failed(error) => self.failed.push((run, error.to_string())),
            _ => {}
        }
    }
}

impl RunMaker for Pretended {
    fn run_locally(&mut self, run: usize, recording: &Path) -> anyhow::Result<Option<Recorded>> {
        self.make(run, recording)
    }

    fn in_lab(&mut self, runs: &[(usize, PathBuf)], ended: &mut GuestEnded<'_>) {
        for (run, path) in runs {
            if let Some(recorded) = self.make(*run, path).transpose() {
                ended(*run, recorded, self);
            }
        }
    }

    fn retry(&mut self, _runs: usize) {}

    fn signal(&self) -> Option<&'static str> {
        self.signal
    }
}

/// The folder of a plan, and its runs.
struct Begun {
    _scratch: tempfile::TempDir,
    path: PathBuf,
    combinations: Vec<CombinationEntry>,
    runs: Vec<PlannedRun>,
}

impl Begun {
    fn with_seed(seed: u64, is_in_lab: bool) -> Self {
        let text = format!("{PLAN}{seed}\n");
        let plan = Plan::read(Path::new("plan.toml"), &mut |_| Ok(text.clone())).unwrap();
        let labels: Vec<String> = (1..=6).map(|prio| format!("prio={prio}")).collect();
        let runs = plan.order.runs(labels.len(), seed);
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("results");
        drop(ResultsFolder::create(&path, &plan, &text, &labels, &runs, None).unwrap());
        let combinations =
            labels.into_iter().map(|label| CombinationEntry { label, is_in_lab }).collect();
        Begun { _scratch: scratch, path, combinations, runs }
    }

    /// As `teiji run --resume` does.
    fn resume(&self, maker: &mut Pretended) -> PlanResult {
        let folder = ResultsFolder::open(&self.path).unwrap();
        let execution =
            Execution { folder: &folder, combinations: &self.combinations, runs: &self.runs };
        let missing = execution.missing(maker, &|_, _| Ok(Vec::new())).unwrap();
        execution.execute(missing, maker).unwrap()
    }

    /// The labels of recordings, in the order of their numbers.
    fn recordings(&self) -> Vec<String> {
        let names = fs::read_dir(&self.path)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.filter(|name| name.ends_with(".teiji")).collect();
        names.sort();
        names
    }
}

const ALL_DONE: PlanResult = PlanResult { failed: 0, signal: None, disk_failed: false };

#[test]
fn runs_are_in_the_order_of_their_seed() {
    let order = |seed| {
        let begun = Begun::with_seed(seed, false);
        let mut maker = Pretended::default();
        assert_eq!((begun.resume(&mut maker), maker.made), (ALL_DONE, vec![0, 1, 2, 3, 4, 5]));
        begun.recordings()
    };
    let first = order(1);
    assert_eq!(first.len(), 6);
    assert_eq!(order(1), first);
    assert_ne!(order(2), first);
}

#[test]
fn what_a_signal_interrupted_is_made_anew_and_nothing_else() {
    let begun = Begun::with_seed(1, false);
    let mut maker = Pretended::with(&[(2, 1, Fate::Stopped)]);
    assert_eq!(begun.resume(&mut maker), PlanResult { signal: Some("SIGINT"), ..ALL_DONE });
    assert_eq!(maker.made, [0, 1, 2]);
    let mut again = Pretended::default();
    assert_eq!(begun.resume(&mut again), ALL_DONE);
    assert_eq!((again.was_done, again.made), (vec![0, 1], vec![2, 3, 4, 5]));
    assert!(again.was_cut_short.is_empty(), "what the user stopped is not kept");
    assert_eq!(begun.recordings().len(), 6);
}

#[test]
fn what_a_power_cut_left_is_kept_and_made_anew() {
    let begun = Begun::with_seed(1, false);
    begun.resume(&mut Pretended::with(&[(1, 1, Fate::CutOff)]));
    let mut again = Pretended::default();
    assert_eq!(begun.resume(&mut again), ALL_DONE);
    assert_eq!(
        (again.was_done, again.was_cut_short, again.made),
        (vec![0], vec![1], vec![1, 2, 3, 4, 5])
    );
    assert_eq!(crate::folder::incomplete(&begun.path).unwrap().len(), 1);
}

#[test]
fn a_failing_run_is_tried_once_more_after_the_others() {
    for (is_in_lab, fate, why) in [
        (false, Fate::Fails, "no threads"),
        (true, Fate::Fails, "no threads"),
        (false, Fate::StarvesTheMachine, "Its recording is in"),
        (true, Fate::StarvesTheMachine, "Its recording is in"),
    ] {
        let begun = Begun::with_seed(1, is_in_lab);
        let mut maker = Pretended::with(&[(1, 1, fate), (3, 1, fate), (3, 2, fate)]);
        assert_eq!(begun.resume(&mut maker), PlanResult { failed: 1, ..ALL_DONE });
        assert_eq!(maker.made, [0, 1, 2, 3, 4, 5, 1, 3]);
        assert_eq!(maker.failed.iter().map(|(run, _)| *run).collect::<Vec<_>>(), [1, 3, 3]);
        assert!(maker.failed.iter().all(|(_, output)| output.contains(why)), "{:?}", maker.failed);
        assert_eq!(begun.recordings().len(), 5);
    }
}

#[test]
fn a_full_disk_ends_the_plan() {
    let begun = Begun::with_seed(1, false);
    let mut maker = Pretended::with(&[(1, 1, Fate::FillsTheDisk)]);
    assert_eq!(begun.resume(&mut maker), PlanResult { failed: 1, signal: None, disk_failed: true });
    assert_eq!(maker.made, [0, 1]);
}
