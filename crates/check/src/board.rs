// SPDX-License-Identifier: MIT OR Apache-2.0
//! The board, and the kernel's arguments that it needs.

use super::machine::Machine;
use host::kernel::one_line;

/// The board's name, where a device tree has it.
pub(crate) fn board(machine: &Machine<'_>) -> Option<String> {
    one_line(&machine.text("proc/device-tree/model")?)
}

/// Arguments that switch the fast interrupts of the USB controller off.
pub(crate) const FAST_INTERRUPTS: [&str; 2] = ["dwc_otg.fiq_enable", "dwc_otg.fiq_fsm_enable"];

/// Whether the board is one whose USB controller takes fast interrupts: those up to the Raspberry
/// Pi 3.
pub(crate) fn has_fast_interrupts(machine: &Machine<'_>) -> bool {
    const NAMES: [&str; 6] =
        ["Model ", "2 ", "3 ", "Zero", "Compute Module Rev", "Compute Module 3"];
    let board = board(machine).unwrap_or_default();
    let is_early = board
        .strip_prefix("Raspberry Pi ")
        .is_some_and(|rest| NAMES.iter().any(|name| rest.starts_with(name)));
    // Another driver, as the kernel has it of itself, takes none.
    let has_driver = !machine.exists("sys/module") || machine.exists("sys/module/dwc_otg");
    is_early && has_driver
}

/// Whether the kernel that is looked at has PREEMPT_RT.
pub(crate) fn will_have_preempt_rt(machine: &Machine<'_>) -> bool {
    machine.options.config.as_ref().map_or_else(
        || machine.has_preempt_rt(),
        |config| config.has("PREEMPT_RT") || config.has("PREEMPT_RT_FULL"),
    )
}

/// The argument that switches one of them off: as it is written, where it does.
pub(crate) fn switched_off(machine: &Machine<'_>, name: &'static str) -> (&'static str, String) {
    let is_off =
        machine.arguments.value(name).is_some_and(|value| ["0", "n", "N", "off"].contains(&value));
    let written = machine.arguments.written(name).filter(|_| is_off);
    (name, written.unwrap_or_else(|| format!("{name}=0")))
}

/// The names of arguments that this board needs with PREEMPT_RT, and what each is to be. None where
/// it needs none.
pub(crate) fn usb_arguments(machine: &Machine<'_>) -> Vec<(&'static str, String)> {
    if !has_fast_interrupts(machine) || !will_have_preempt_rt(machine) {
        return Vec::new();
    }
    FAST_INTERRUPTS.into_iter().map(|name| switched_off(machine, name)).collect()
}
