// SPDX-License-Identifier: MIT OR Apache-2.0
//! A priority beside a policy that takes none, in a plan: where it is to be changed, and how.
//!
//! A command line has one policy, and is told to change it. A plan may have several, each in a line
//! of its own: below `[measure]`, below `[vary]`, or in an `[[include]]`. What is said follows from
//! the plan, and not from the combination that it was seen in: it is said once.

use plan::{Plan, PlanError, Policy, Scheduling, Setting, Value};

const POLICY: &str = "policy";
const PRIO: &str = "prio";

/// What is to be changed in `plan`, where a combination of these settings has priority `prio` under
/// a policy that takes none, by its kernel name.
pub fn priority_without_real_time(
    plan: &Plan,
    settings: &[Setting],
    prio: i64,
    policy: &str,
) -> PlanError {
    let setting = |key: &str| settings.iter().rfind(|setting| setting.key == key);
    let (of_policy, of_prio) = (setting(POLICY), setting(PRIO));
    let included = |setting: Option<&Setting>| {
        setting.is_some_and(|setting| plan.include.iter().flatten().any(|one| one == setting))
    };
    let (place, what) = if included(of_policy) || included(of_prio) {
        let how = match (included(of_policy), included(of_prio)) {
            (true, true) => "write policy = \"fifo\" or \"rr\", or prio = \"none\"",
            (true, false) => "write prio = \"none\" in this [[include]]",
            _ => "add policy = \"fifo\" or \"rr\" to this [[include]], or leave prio out",
        };
        let place = of_prio.filter(|_| included(of_prio)).or(of_policy);
        (place, format!("{}: {how}", needs(prio, policy)))
    } else if let Some(values) = varied(plan, POLICY) {
        let (without, with): (Vec<&Setting>, Vec<&Setting>) =
            values.iter().partition(|value| takes_no_priority(value));
        (without.first().copied(), of_varied(plan, &without, &with))
    } else if let (Some(of_policy), Some(values)) = (of_policy, varied(plan, PRIO)) {
        let (only, policies) = ([of_policy], "write policy = \"fifo\" or \"rr\"");
        let how = if values.iter().any(is_none) {
            format!("{policies}, and take \"none\" out of prio. {}", measured_too(plan, &only))
        } else {
            format!("{policies}, or leave prio out")
        };
        (Some(of_policy), format!("{}: {how}", take_no(&only)))
    } else {
        let how = "write policy = \"fifo\" or \"rr\", or leave prio out";
        (of_prio, format!("{}: {how}", needs(prio, policy)))
    };
    PlanError::at(place.or(of_prio).map_or(&plan.at, |setting| &setting.at), what)
}

fn needs(prio: i64, policy: &str) -> String {
    format!("priority {prio} needs a real-time policy, but the policy is {policy}")
}

fn varied<'p>(plan: &'p Plan, key: &str) -> Option<&'p [Setting]> {
    let factor = plan.vary.iter().find(|factor| factor.key == key);
    factor.map(|factor| factor.values.as_slice())
}

/// Where policies with and without priorities are varied.
fn of_varied(plan: &Plan, without: &[&Setting], with: &[&Setting]) -> String {
    let no = take_no(without);
    if with.is_empty() {
        return format!("{no}, and no other policy is varied: leave prio out");
    }
    let with: Vec<String> = with.iter().map(|setting| setting.value.in_toml()).collect();
    format!("{no}: write policy = [{}]. {}", with.join(", "), measured_too(plan, without))
}

/// How to measure policies without a priority beside those that have one.
fn measured_too(plan: &Plan, policies: &[&Setting]) -> String {
    let values: Vec<String> = policies.iter().map(|setting| setting.value.in_toml()).collect();
    let others = plan.vary.iter().map(|factor| factor.key.as_str());
    let others = others.filter(|key| ![POLICY, PRIO].contains(key));
    let each: Vec<&str> =
        (policies.len() > 1).then_some("of them").into_iter().chain(others).collect();
    let for_each =
        if each.is_empty() { String::new() } else { format!(" for each {}", each.join(" and ")) };
    let them = if policies.len() > 1 { "them" } else { "it" };
    format!(
        "To measure {them} too, add an [[include]] with policy = {} and prio = \"none\"{for_each}",
        values.join(" or ")
    )
}

/// `SCHED_OTHER and SCHED_BATCH take no priority`.
fn take_no(policies: &[&Setting]) -> String {
    let names: Vec<&str> =
        policies.iter().filter_map(|setting| policy(setting)).map(Policy::kernel_name).collect();
    let verb = if names.len() > 1 { "take" } else { "takes" };
    format!("{} {verb} no priority", names.join(" and "))
}

fn takes_no_priority(setting: &Setting) -> bool {
    policy(setting).is_some_and(|policy| Scheduling::new(Some(policy), Some(1)).is_err())
}

/// The policy that a setting names; none where that is left to its default.
fn policy(setting: &Setting) -> Option<Policy> {
    match &setting.value {
        Value::Words(words) => words.first()?.parse().ok(),
        Value::Switch(_) => None,
    }
}

fn is_none(setting: &Setting) -> bool {
    setting.value == Value::Words(Vec::new())
}

#[cfg(test)]
mod tests {
    use crate::commands::run::settings::points;
    use plan::{CpuId, Plan, ProcessCpus};
    use std::path::Path;

    fn error(text: &str) -> String {
        let read = |text: &str| Plan::read(Path::new("p"), &mut |_| Ok(text.to_owned())).unwrap();
        let cpus = vec![CpuId(0)];
        let cpus = ProcessCpus { inherited: cpus.clone(), usable: cpus, set_apart: Vec::new() };
        points(&read(text), &cpus).err().map_or("none".to_owned(), |error| error.to_string())
    }

    /// Each with the plan that follows from it, which has no error.
    #[test]
    fn advice_is_said_once_and_holds() {
        let load = "load = ['none', 'cpu']\n";
        for (plan, expected, then) in [
            (
                format!("[measure]\nprio = 80\n[vary]\npolicy = ['fifo', 'other', 'rr']\n{load}"),
                "p:4:19: SCHED_OTHER takes no priority: write policy = [\"fifo\", \"rr\"]. To \
                 measure it too, add an [[include]] with policy = \"other\" and prio = \"none\" \
                 for each load",
                format!(
                    "[measure]\nprio = 80\n[vary]\npolicy = ['fifo', 'rr']\n{load}[[include]]\n\
                     policy = 'other'\nprio = 'none'\nload = 'none'\n[[include]]\npolicy = \
                     'other'\nprio = 'none'\nload = 'cpu'\n"
                ),
            ),
            (
                "[vary]\npolicy = ['batch', 'fifo', 'other']\nprio = [10, 80]\n".to_owned(),
                "p:2:11: SCHED_BATCH and SCHED_OTHER take no priority: write policy = [\"fifo\"]. \
                 To measure them too, add an [[include]] with policy = \"batch\" or \"other\" and \
                 prio = \"none\" for each of them",
                "[vary]\npolicy = ['fifo']\nprio = [10, 80]\n[[include]]\npolicy = \
                 'batch'\nprio = 'none'\n[[include]]\npolicy = 'other'\nprio = 'none'\n"
                    .to_owned(),
            ),
            (
                "[vary]\npolicy = ['idle', 'other']\nprio = [10, 80]\n".to_owned(),
                "p:2:11: SCHED_IDLE and SCHED_OTHER take no priority, and no other policy is \
                 varied: leave prio out",
                "[vary]\npolicy = ['idle', 'other']\n".to_owned(),
            ),
            (
                format!("[measure]\npolicy = 'other'\n[vary]\nprio = ['none', 80]\n{load}"),
                "p:2:1: SCHED_OTHER takes no priority: write policy = \"fifo\" or \"rr\", and \
                 take \"none\" out of prio. To measure it too, add an [[include]] with policy = \
                 \"other\" and prio = \"none\" for each load",
                format!(
                    "[measure]\npolicy = 'rr'\n[vary]\nprio = [80]\n{load}[[include]]\npolicy = \
                     'other'\nprio = 'none'\nload = 'cpu'\n"
                ),
            ),
            (
                "[measure]\npolicy = 'other'\n[vary]\nprio = [10, 80]\n".to_owned(),
                "p:2:1: SCHED_OTHER takes no priority: write policy = \"fifo\" or \"rr\", or leave \
                 prio out",
                "[measure]\npolicy = 'rr'\n[vary]\nprio = [10, 80]\n".to_owned(),
            ),
            (
                format!("[measure]\npolicy = 'other'\nprio = 80\n[vary]\n{load}"),
                "p:3:1: priority 80 needs a real-time policy, but the policy is SCHED_OTHER: write \
                 policy = \"fifo\" or \"rr\", or leave prio out",
                format!("[measure]\npolicy = 'other'\n[vary]\n{load}"),
            ),
            (
                format!("[measure]\nprio = 80\n[vary]\n{load}[[include]]\npolicy = 'other'\n"),
                "p:6:1: priority 80 needs a real-time policy, but the policy is SCHED_OTHER: write \
                 prio = \"none\" in this [[include]]",
                format!(
                    "[measure]\nprio = 80\n[vary]\n{load}[[include]]\npolicy = 'other'\nprio = \
                     'none'\n"
                ),
            ),
            (
                "[vary]\npolicy = ['fifo', 'rr']\n[[include]]\npolicy = 'batch'\nprio = 5\n"
                    .to_owned(),
                "p:5:1: priority 5 needs a real-time policy, but the policy is SCHED_BATCH: write \
                 policy = \"fifo\" or \"rr\", or prio = \"none\"",
                "[vary]\npolicy = ['fifo', 'rr']\n[[include]]\npolicy = 'batch'\nprio = 'none'\n"
                    .to_owned(),
            ),
            (
                format!("[measure]\npolicy = 'other'\n[vary]\n{load}[[include]]\nprio = 5\n"),
                "p:6:1: priority 5 needs a real-time policy, but the policy is SCHED_OTHER: add \
                 policy = \"fifo\" or \"rr\" to this [[include]], or leave prio out",
                format!(
                    "[measure]\npolicy = 'other'\n[vary]\n{load}[[include]]\nprio = 5\npolicy = \
                     'rr'\n"
                ),
            ),
        ] {
            assert_eq!(
                (error(&plan).as_str(), error(&then).as_str()),
                (expected, "none"),
                "{plan}"
            );
        }
    }
}
