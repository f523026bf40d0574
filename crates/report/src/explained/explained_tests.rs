// SPDX-License-Identifier: MIT OR Apache-2.0
//! The words about latencies whose parts are known.

use crate::language::{Language, in_language, texts, tr};
use crate::synthetic::{self, Synthetic};
use crate::{ChartOptions, Report, compared_causes, explained_text, timeline_svg};
use model::{
    Account, Document, EXPLAINED_VERSION, Evidence, Explained, FunctionTime, Inlined, Part,
    PartKind, ProgramThread, Source, Sources, Span, Timeline,
};
use plan::{CpuId, Scheduling};

fn part(kind: PartKind, begin_ns: u64, length_ns: u64, function: Option<&str>) -> Part {
    Part {
        kind,
        begin_ns,
        length_ns,
        function: function.map(str::to_owned),
        task: Some("hackbench".to_owned()),
        ..Part::default()
    }
}

/// 237 µs, most of it with interrupts off.
fn spike(activation: u64) -> Account {
    let off = Part {
        called_by: ["free_unref_page_list", "release_pages", "tlb_finish_mmu", "exit_mmap"]
            .map(str::to_owned)
            .to_vec(),
        off_at: Some("_raw_spin_lock_irqsave+0xf".to_owned()),
        on_at: Some("_raw_spin_unlock_irqrestore+0x13".to_owned()),
        off_before_ns: Some(1_234),
        mostly: [("__free_one_page", 156_046), ("<script>", 37_640)]
            .map(|(name, own_ns)| FunctionTime { function: name.to_owned(), own_ns, source: None })
            .to_vec(),
        ..part(PartKind::InterruptsOff, 0, 231_669, Some("free_pcppages_bulk"))
    };
    let interrupted = Some("_raw_spin_unlock_irqrestore".to_owned());
    let interrupt = Part {
        interrupted,
        ..part(PartKind::HardInterrupt, 231_669, 3_600, Some("asm_sysvec_apic_timer_interrupt"))
    };
    let switch = Part {
        next_task: Some("teiji-0".to_owned()),
        ..part(PartKind::Switch, 235_269, 2_041, None)
    };
    let spans = [(0, 0, 0, 237_310), (1, 1, 0, 231_669), (1, 2, 231_669, 3_600)]
        .map(|(depth, name, begin_ns, length_ns)| Span { depth, name, begin_ns, length_ns });
    let names = ["hackbench", "free_pcppages_bulk", "<script>"].map(str::to_owned).to_vec();
    let timeline = Timeline { names, spans: spans.to_vec(), left_out: None };
    Account {
        thread: 0,
        activation,
        latency_ns: 237_310,
        parts: vec![off, interrupt, switch],
        timeline,
        ..Account::default()
    }
}

#[test]
fn one_sentence_and_the_parts() {
    assert_eq!(
        explained_text(&[spike(1_170)], None, Language::English),
        "\
237.310 µs at activation 1,170: interrupts off for 231.669 µs in
free_pcppages_bulk, called by free_unref_page_list, release_pages,
tlb_finish_mmu, in task hackbench.

237.310 µs at activation 1,170, from the planned time on, µs:
  0.000  231.669  interrupts off  free_pcppages_bulk, task hackbench
231.669    3.600  hard interrupt  asm_sysvec_apic_timer_interrupt,
                                  interrupted _raw_spin_unlock_irqrestore,
                                  task hackbench
235.269    2.041  context switch  from hackbench to teiji-0
         237.310  in all
Interrupts were switched off at _raw_spin_lock_irqsave+0xf, 1.234 µs before, and
on again at _raw_spin_unlock_irqrestore+0x13.
Stack, innermost first: free_pcppages_bulk < free_unref_page_list <
release_pages < tlb_finish_mmu < exit_mmap.
Most of its own time, µs: __free_one_page 156.046, <script> 37.640."
    );
    assert_eq!(explained_text(&[], None, Language::English), "");
}

/// The same, with what the kernel's debug information says.
fn located_spike() -> Account {
    let at = |file: &str, line| Source { file: file.to_owned(), line, inlined: Vec::new() };
    let within = |source: Source, function: &str, file: &str, line| Source {
        inlined: vec![Inlined { function: function.to_owned(), file: file.to_owned(), line }],
        ..source
    };
    let mut account = spike(1_170);
    let off = &mut account.parts[0];
    off.called_by.truncate(2);
    off.sources = Sources {
        function: Some(within(
            at("mm/page_alloc.c", 1_512),
            "__free_one_page",
            "mm/page_alloc.c",
            1_106,
        )),
        called_by: vec![Some(at("mm/page_alloc.c", 3_491)), None],
        interrupted: None,
        off_at: Some(within(
            at("kernel/locking/spinlock.c", 162),
            "native_irq_disable",
            "arch/x86/include/asm/irqflags.h",
            40,
        )),
        on_at: Some(at("kernel/locking/spinlock.c", 194)),
    };
    off.mostly[0].source = Some(at("mm/page_alloc.c", 1_100));
    account
}

#[test]
fn each_place_has_its_line_where_that_is_known() {
    assert_eq!(
        explained_text(&[located_spike()], None, Language::English),
        "\
237.310 µs at activation 1,170: interrupts off for 231.669 µs in
free_pcppages_bulk at mm/page_alloc.c:1512, called by free_unref_page_list,
release_pages, in task hackbench.

237.310 µs at activation 1,170, from the planned time on, µs:
  0.000  231.669  interrupts off  free_pcppages_bulk at mm/page_alloc.c:1512,
                                  task hackbench
231.669    3.600  hard interrupt  asm_sysvec_apic_timer_interrupt,
                                  interrupted _raw_spin_unlock_irqrestore,
                                  task hackbench
235.269    2.041  context switch  from hackbench to teiji-0
         237.310  in all
Interrupts were switched off at _raw_spin_lock_irqsave+0xf at
kernel/locking/spinlock.c:162 (inlined: native_irq_disable at
arch/x86/include/asm/irqflags.h:40), 1.234 µs before, and on again at
_raw_spin_unlock_irqrestore+0x13 at kernel/locking/spinlock.c:194.
Stack, innermost first: __free_one_page at mm/page_alloc.c:1106 (inlined) <
free_pcppages_bulk at mm/page_alloc.c:1512 < free_unref_page_list at
mm/page_alloc.c:3491 < release_pages.
Most of its own time, µs: __free_one_page at mm/page_alloc.c:1100 156.046,
<script> 37.640."
    );
    let japanese = explained_text(&[located_spike()], None, Language::Japanese);
    assert!(japanese.contains("free_pcppages_bulk (mm/page_alloc.c:1512)"), "{japanese}");
}

#[test]
fn at_last_comes_what_the_ns_are() {
    let mut lab = synthetic::lab(Some(2));
    lab.guest.cpus = 2;
    let text = explained_text(&[spike(1)], Some(&lab), Language::English);
    assert!(
        text.contains(
            "\n\nVirtual ns: 2 CPUs take turns, mostly of less than 0.2 µs. Each executes an\n"
        ),
        "{text}"
    );
}

#[test]
fn of_several_the_causes_come_first() {
    let short = Account {
        activation: 7,
        latency_ns: 16_000,
        parts: vec![Part {
            task: None,
            ..part(PartKind::PreemptionOff, 0, 16_000, Some("extract_entropy"))
        }],
        thread: 1,
        timeline: Timeline::default(),
        ..Account::default()
    };
    let text = explained_text(&[spike(1), spike(2), short], None, Language::English);
    let ledger = "\
latencies  share  largest, µs     activation  cause
        2   67 %      237.310              1  interrupts off in
                                                free_pcppages_bulk
        1   33 %       16.000  7 of thread 1  preemption off in extract_entropy
";
    assert!(text.contains(ledger), "{text}");
    assert!(
        text.contains(
            "\n16.000 µs at activation 7 of thread 1: preemption off for 16.000 µs \
             in\nextract_entropy, task unknown.\n"
        ),
        "{text}"
    );
}

#[test]
fn causes_that_one_recording_has_and_the_other_lacks() {
    let short = |function: &str, ns| Account {
        latency_ns: ns,
        parts: vec![part(PartKind::PreemptionOff, 0, ns, Some(function))],
        ..spike(3)
    };
    let (one, other) = (
        [spike(1), spike(2), short("write", 9_000)],
        [short("write", 5_000), short("read", 4_000)],
    );
    let text = compared_causes(("vanilla", &one), ("rt", &other), Language::English).unwrap();
    assert_eq!(
        text,
        "\
Causes of late wake-ups only in vanilla: interrupts off in free_pcppages_bulk,
largest 237.310 µs.
Causes of late wake-ups only in rt: preemption off in read, largest 4.000 µs.
In both: preemption off in write, largest 9.000 and 5.000 µs.
Of the latencies that were explained: 3 and 2.
"
    );
    assert!(compared_causes(("vanilla", &one), ("rt", &[]), Language::English).is_none());
}

#[test]
fn a_picture_has_each_part_and_function() {
    for language in Language::ALL {
        let svg = timeline_svg(&spike(1), language);
        assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"));
        assert!(svg.contains(">free_pcppages_bulk</text>") && !svg.contains("<script>"), "{svg}");
        // Two of three parts are wide enough to be named; the ground, three parts, three spans,
        // three colours that are explained.
        assert_eq!(svg.matches("<rect").count(), 10, "{svg}");
        let switch = in_language(language, || super::words::kind_name(PartKind::Switch, false));
        assert!(svg.contains(&format!(">{switch}</text>")), "{svg}");
        // A function that ran on through all three parts has the colours of each.
        let mut across = spike(1);
        across.timeline.spans[1].length_ns = 237_310;
        assert_eq!(timeline_svg(&across, language).matches("<rect").count(), 12);
        // From events it has the table's name.
        let seen = timeline_svg(&seen(PartKind::PreemptionOff, None, "bash", None), language);
        let name = in_language(language, || texts::not_preempted.said());
        assert!(seen.contains(&format!(">{name}</text>")), "{seen}");
    }
}

#[test]
fn a_page_shows_it_where_something_was_explained() {
    let mut recordings = [Synthetic::idle().samples(&[1, 2, 3]).title("one").build()];
    let options = ChartOptions::default();
    let explained = Explained {
        version: EXPLAINED_VERSION,
        identical_samples: Some(3),
        accounts: vec![spike(1), spike(2)],
    };
    for language in Language::ALL {
        let page = Report::new(&recordings, &[], &options).html("teiji report", language);
        assert!(!page.contains("id=\"explained\"") && page.contains("\"explained\":[]"));
    }
    recordings[0].explained = Some(explained);
    for language in Language::ALL {
        let report = Report::new(&recordings, &[], &options);
        let (page, text) = (
            report.html("teiji report", language),
            report.markdown("teiji report", None, language),
        );
        assert!(page.contains("<section id=\"explained\">") && page.contains("231.669"));
        assert!(
            page.matches("free_pcppages_bulk").count() >= 3 && !page.contains("37.640, <script>")
        );
        // The page says which latency it is, so its picture does not say it again.
        let title = in_language(language, || super::words::account_title(&spike(1)));
        let drawn = |picture: &str| picture.contains(&format!(">{title}</text>"));
        assert!(drawn(&timeline_svg(&spike(1), language)) && !drawn(&page), "{title}");
        assert!(text.contains("| 0.000 | 231.669 |"), "{text}");
        // In latency over time both are marked, with their cause.
        let cause = in_language(language, || super::words::cause_of(&spike(1)).unwrap());
        assert_eq!(page.matches(&format!("\"cause\":\"{cause}\"")).count(), 2);
        let lead = in_language(language, || tr!(diamonds_cause_known));
        assert!(page.contains(lead.trim()), "{lead}");
    }
}

/// One cause in two parts, each in another task and called by something else: what is said of all
/// of it must be true of both.
#[test]
fn a_cause_of_several_parts_names_what_they_share() {
    let handler = |begin_ns, length_ns, task: &str, caller: &str| Part {
        called_by: ["sysvec_apic_timer_interrupt", caller].map(str::to_owned).to_vec(),
        task: Some(task.to_owned()),
        ..part(PartKind::HardInterrupt, begin_ns, length_ns, Some("hrtimer_interrupt"))
    };
    let account = Account {
        thread: 0,
        activation: 7,
        latency_ns: 5_373,
        parts: vec![
            handler(0, 2_306, "teiji-0", "do_syscall_64"),
            part(PartKind::Scheduling, 2_306, 1_000, Some("schedule")),
            handler(3_306, 2_067, "swapper/0", "default_idle"),
        ],
        timeline: Timeline::default(),
        ..Account::default()
    };
    let text = explained_text(std::slice::from_ref(&account), None, Language::English);
    let sentence = "5.373 µs at activation 7: hard interrupt for 4.373 µs in hrtimer_interrupt, \
                    called by sysvec_apic_timer_interrupt, in tasks teiji-0 (2.306 µs) and \
                    swapper/0 (2.067 µs).";
    assert_eq!(text.split("\n\n").next().unwrap().replace('\n', " "), sentence);
    let (_, details) = text.split_once(" in all\n").unwrap();
    assert_eq!(
        details,
        "The longest part, 2.306 µs from 0.000 µs on:\nStack, innermost first: \
         hrtimer_interrupt < sysvec_apic_timer_interrupt <\ndo_syscall_64."
    );
    let japanese = explained_text(&[account], None, Language::Japanese);
    assert!(japanese.contains("タスク teiji-0(2.306 µs)、swapper/0(2.067 µs)"), "{japanese}");
}

/// Of events: what ran, and how it is known.
fn seen(kind: PartKind, name: Option<&str>, task: &str, priority: Option<u8>) -> Account {
    let part = Part {
        name: name.map(str::to_owned),
        task: Some(task.to_owned()),
        priority,
        evidence: Some(Evidence::Traced),
        ..part(kind, 0, 90_000, None)
    };
    let (latency_ns, timeline) = (90_000, Timeline::default());
    Account {
        thread: 0,
        activation: 7,
        latency_ns,
        parts: vec![part],
        timeline,
        ..Account::default()
    }
}

/// What is told of one account, where the machine and the threads are like this.
fn remedy(account: &Account, change: impl Fn(&mut Document)) -> Vec<String> {
    let mut document = Synthetic::idle().samples(&[1, 2, 3]).build().document;
    document.host.before.preemption = Some("PREEMPT_DYNAMIC".to_owned());
    change(&mut document);
    in_language(Language::English, || {
        super::remedies::remedies(std::slice::from_ref(account), &document)
    })
}

#[test]
fn a_remedy_fits_cause_kernel_and_scheduling() {
    let as_it_is = |_: &mut Document| ();
    let ordinary = |document: &mut Document| document.threads[0].scheduling = Scheduling::OTHER;
    let rt = |document: &mut Document| {
        document.host.before.preemption = Some("PREEMPT_RT".to_owned());
    };
    let held = |document: &mut Document| document.instrument.dma_latency_held = true;
    let free = |document: &mut Document| document.instrument.dma_latency_held = false;
    let has = |account: &Account, change: &dyn Fn(&mut Document), words: &str| {
        let told = remedy(account, change);
        assert!(told.len() == 1 && told[0].contains(words), "{words}: {told:?}");
    };
    let device = seen(PartKind::HardInterrupt, Some("virtio0-input"), "bash", None);
    has(&device, &as_it_is, "tune --only interrupts-on-measured-cpus --cpus 0");
    let timer = seen(PartKind::HardInterrupt, Some("local timer"), "bash", None);
    has(&timer, &as_it_is, "tune --boot --cpus 0");
    let of_arm = seen(PartKind::HardInterrupt, Some("arch_timer"), "bash", None);
    has(&of_arm, &as_it_is, "tune --boot --cpus 0");
    let thermal = seen(PartKind::HardInterrupt, Some("thermal event"), "bash", None);
    assert!(remedy(&thermal, as_it_is).is_empty());
    let above = seen(PartKind::OtherThread, None, "irq/9-acpi", Some(95));
    has(&above, &as_it_is, "tune --also threads-above --cpus 0");
    let program = seen(PartKind::OtherThread, None, "other-loop", Some(80));
    let late = ProgramThread { name: None, number: 7, priority: Some(50), cpu: CpuId(3) };
    let program = Account { program: Some(late), ..program };
    has(&program, &as_it_is, "(of teiji measure by -p) or lower the other's.");
    let below = seen(PartKind::OtherThread, None, "bash", None);
    has(&below, &as_it_is, "rt-throttling");
    has(&below, &ordinary, "A real-time priority goes before them");
    let running_on = seen(PartKind::PreemptionOff, None, "bash", None);
    has(&running_on, &as_it_is, "A kernel with PREEMPT_RT");
    has(&running_on, &rt, "This kernel has PREEMPT_RT");
    has(&running_on, &ordinary, "A real-time priority goes before them");
    let idle = seen(PartKind::Idle, None, "idle", None);
    has(&idle, &held, "idle=poll");
    has(&idle, &free, "tune --only idle-states --cpus 0");
    // The lab's are not of a machine that one can tune.
    assert!(remedy(&spike(1), as_it_is).is_empty());
}
