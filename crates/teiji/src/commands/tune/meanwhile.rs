// SPDX-License-Identifier: MIT OR Apache-2.0
//! Settings that somebody else changed while a command ran.

use tune::ChangeResult;

/// Names those of which putting back does not say it: what is as it was needs not be put back.
pub fn say(changed: &[ChangeResult], back: &[ChangeResult]) {
    for ChangeResult { file, obstacle, .. } in changed {
        let is_said = back.iter().any(|result| result.file == *file && result.obstacle.is_some());
        if let Some(obstacle) = obstacle.as_ref().filter(|_| !is_said) {
            complain!("note: not as it was to be when the command ended: /{file}: {obstacle}");
        }
    }
}
