// SPDX-License-Identifier: MIT OR Apache-2.0
//! `--deepest-idle-state`: CPUs are kept from deeper idle states during the run. What was there
//! before is in the journal of `teiji tune`, so that any call puts it back after a kill.

use host::HostRoot;
use plan::CpuId;
use system::rights::are_lent;
use tune::{ChangeResult, Tuning, TuningError, TuningPlan};

/// Idle states that are off until this goes.
pub struct IdleStates {
    tuning: Tuning,
}

/// Why they could not be switched off, in the words of cyclictest, and what stood in the way.
const REFUSED: &str = "Could not set deepest cpu idle state.";

impl IdleStates {
    /// Switches off what is deeper than this one on these CPUs. None where nothing is deeper, as
    /// where the kernel has no idle states at all.
    pub fn limit(
        root: &HostRoot,
        cpus: &[CpuId],
        deepest: i64,
        should_stop: &dyn Fn() -> bool,
    ) -> Result<Option<IdleStates>, String> {
        let Ok(first) = usize::try_from(deepest.saturating_add(1)) else { return Ok(None) };
        let plan = TuningPlan::without_idle_states(root, cpus, first);
        let held = |process: String| {
            format!("{REFUSED}\nProcess {process} of teiji has changed settings: end it first")
        };
        if plan.changes.is_empty() {
            // What another process switched off comes back when that ends.
            let holder = TuningPlan::idle_states_held_by(root, cpus, first);
            return holder.map_or(Ok(None), |process| Err(held(process)));
        }
        if are_lent() {
            let why = "the rights of teiji's file are for the priority of its threads alone";
            return Err(format!("{REFUSED}\n{why}: run it as root"));
        }
        let refused = |error: TuningError| match error {
            TuningError::Held(process) => held(process),
            error => format!("{REFUSED}\n{error}"),
        };
        let tuning = Tuning::begin(root).map_err(refused)?.for_verb("cyclictest");
        let mut limited = IdleStates { tuning };
        limited.put_back();
        let results = limited.tuning.apply(&plan, false, should_stop).map_err(refused)?;
        for ChangeResult { file, obstacle, .. } in &results {
            if let Some(obstacle) = obstacle {
                return Err(format!("{REFUSED}\n/{file}: {obstacle}"));
            }
        }
        Ok(Some(limited))
    }

    fn put_back(&mut self) {
        let results = match self.tuning.undo_unfinished() {
            Ok(results) | Err(TuningError::NotSettled { results, .. }) => results,
            Err(error) => return complain!("teiji cyclictest: {error}"),
        };
        for ChangeResult { file, obstacle, .. } in results {
            if let Some(obstacle) = obstacle {
                complain!("teiji cyclictest: not put back: /{file}: {obstacle}");
            }
        }
    }
}

impl Drop for IdleStates {
    fn drop(&mut self) {
        self.put_back();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use check::CheckOptions;
    use std::fs;
    use std::path::Path;
    use tempfile::TempDir;
    use tune::KilledTuning;

    /// Two CPUs with three idle states each; of the first the deepest is off.
    fn machine() -> (TempDir, HostRoot) {
        let dir = tempfile::tempdir().unwrap();
        let put = |file: &str, text: &str| {
            let file = dir.path().join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        };
        put("proc/sys/kernel/random/boot_id", "first\n");
        put("proc/stat", "btime 1000\n");
        for (cpu, state) in [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)] {
            let is_off = (cpu, state) == (0, 2);
            put(&disable(cpu, state), if is_off { "1\n" } else { "0\n" });
        }
        let root = HostRoot::at(dir.path());
        (dir, root)
    }

    fn disable(cpu: u32, state: u32) -> String {
        format!("sys/devices/system/cpu/cpu{cpu}/cpuidle/state{state}/disable")
    }

    fn states(at: &Path) -> String {
        let read = |(cpu, state)| fs::read_to_string(at.join(disable(cpu, state))).unwrap();
        let all = [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)].map(read);
        all.map(|text| text.trim().to_owned()).concat()
    }

    fn limit(root: &HostRoot, cpus: &[u32], deepest: i64) -> Option<IdleStates> {
        let cpus: Vec<CpuId> = cpus.iter().copied().map(CpuId).collect();
        IdleStates::limit(root, &cpus, deepest, &|| false).unwrap()
    }

    #[test]
    fn deeper_idle_states_are_off_during_the_run() {
        let (dir, root) = machine();
        let before = "001000";
        for (cpus, deepest, during) in [
            (&[0, 1][..], 0, Some("011011")),
            (&[1], 1, Some("001001")),
            (&[0, 1], -1, Some("111111")),
            // Off already, deeper than all, and no depth.
            (&[0], 1, None),
            (&[0, 1], 2, None),
            (&[0, 1], -2, None),
        ] {
            let limited = limit(&root, cpus, deepest);
            assert_eq!(limited.is_some(), during.is_some(), "{deepest}");
            assert_eq!(states(dir.path()), during.unwrap_or(before), "{deepest}");
            drop(limited);
            assert_eq!(states(dir.path()), before, "{deepest}");
        }
        assert!(limit(&root, &[7], 0).is_none(), "without idle states there is nothing to do");
    }

    #[test]
    fn what_a_killed_run_left_is_put_back() {
        let (dir, root) = machine();
        let cpus = [CpuId(0), CpuId(1)];
        let kill = || {
            let plan = TuningPlan::without_idle_states(&root, &cpus, 1);
            let mut tuning = Tuning::begin(&root).unwrap().for_verb("cyclictest");
            tuning.apply(&plan, false, &|| false).unwrap();
            let why = IdleStates::limit(&root, &cpus, -1, &|| false).err().unwrap();
            let said = format!(
                "Could not set deepest cpu idle state.\nProcess {} of teiji has changed settings: \
                 end it first",
                std::process::id()
            );
            assert_eq!(why, said);
            // These are off already, and would come back during the run.
            let why = IdleStates::limit(&root, &cpus[1..], 1, &|| false).err();
            assert_eq!(why, Some(said));
            assert!(limit(&root, &[1], 2).is_none(), "none is deeper");
            let found = || {
                let findings = tune::findings(&root, &CheckOptions::default());
                findings.into_iter().find(|one| one.id == "tuning").unwrap().found.to_string()
            };
            assert_eq!(found(), "3 changes by teiji cyclictest, while it runs");
            drop(tuning);
            assert_eq!(states(dir.path()), "011011");
            let cut_off = "teiji cyclictest was cut off: up to 3 changes left to undo";
            assert_eq!(found(), cut_off);
            assert_eq!(KilledTuning::command(&root).as_deref(), Some("teiji cyclictest"));
        };
        kill();
        let put_right = KilledTuning::put_right(&root);
        assert_eq!(put_right, Some(KilledTuning::PutBack { back: 3, left: 0 }));
        assert_eq!(states(dir.path()), "001000");
        kill();
        drop(limit(&root, &[1], -1));
        assert_eq!(states(dir.path()), "001000", "before others are switched off");
    }
}
