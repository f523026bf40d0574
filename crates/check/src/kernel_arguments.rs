// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names of kernel arguments, beside those that decide latency: the common ones of x86 and ARM, of
//! all versions. Those of modules, which have a dot, are in /sys/module. And names on the kernel's
//! command line that others read.

/// Short names are left out: no other is compared with them.
pub(crate) const COMMON: &str = "
    hugepages acpi_apic_instance acpi_backlight acpi_enforce_resources acpi_force_32bit_fadt_addr
    acpi_force_table_verification acpi_irq_balance acpi_irq_isa acpi_irq_pci acpi_mask_gpe
    acpi_no_auto_serialize acpi_no_memhotplug acpi_no_static_ssdt acpi_no_watchdog acpi_os_name
    acpi_osi acpi_rev_override acpi_rsdp acpi_sci acpi_serialize
    acpi_skip_timer_override acpi_sleep acpi_use_timer_override add_efi_memmap
    allow_mismatched_32bit_el0 amd_iommu amd_iommu_dump amd_iommu_intr amd_prefcore apparmor
    audit_backlog_limit bdev_allow_write_mounted blkdevparts boot_delay bootconfig cgroup_disable
    cgroup_enable cgroup_favordynmods cgroup_memory cgroup_no_v1 cgroup_v1_proc checkreqprot
    clearcpuid clk_ignore_unused cma_pernuma coherent_pool console console_msg_format consoleblank
    cpu0_hotplug cpu_init_udelay crash_kexec_post_notifiers crashkernel ddebug_query
    debug_boot_weak_hash debug_guardpage_minorder debug_locks_verbose debug_objects
    debug_pagealloc debugfs debugpat default_hugepagesz deferred_probe_timeout delayacct
    dis_ucode_ldr disable_ipv6 disableapic disable_mtrr_cleanup disable_mtrr_trim
    disable_timer_pin_1
    dma_debug dma_debug_driver dma_debug_entries driver_async_probe dump_apple_properties
    early_ioremap_debug earlycon earlyprintk edac_report efi_fake_mem efi_no_storage_paranoia
    efivar_ssdt elevator elfcorehdr enable_mtrr_cleanup enable_timer_pin_1 enforcing erst_disable
    fail_make_request fail_page_alloc failslab fbcon floppy forcepae ftrace ftrace_boot_snapshot
    ftrace_dump_on_oops ftrace_filter ftrace_graph_filter ftrace_graph_max_depth
    ftrace_graph_notrace ftrace_notrace ftrace_stop_on_warning fw_devlink gather_data_sampling
    gbpages hardlockup_all_cpu_backtrace hash_pointers hashdist hest_disable highmem hpet_mmap
    hugepagesz hugetlb_cma hugetlb_cma_only hugetlb_free_vmemmap hung_task_panic ia32_emulation
    ignore_loglevel ignore_rlimit_data ima_appraise ima_hash ima_policy ima_tcb ima_template
    indirect_target_selection init_mlocked_on_free init_on_alloc init_on_free init_pkru
    initcall_blacklist initcall_debug initramfs_async initramfs_options initrd initrdmem
    integrity_audit intel_iommu io_delay iommu irqfixup ivrs_acpihid ivrs_hpet ivrs_ioapic
    kasan_multi_shot keep_bootcon keepinitrd kernelcore kgdbcon kgdboc kgdbwait kmemleak l1d_flush
    lapic lapic_timer_c2_ok load_ramdisk lockdown log_buf_len loglevel loop_max_part max_loop
    maxcpus mem_encrypt mem_sleep_default memhp_default_state memmap memory_corruption_check
    memory_corruption_check_period memory_corruption_check_size memtest mmio_stale_data
    module_blacklist movable_node movablecore mtdparts mtrr_chunk_size mtrr_gran_size
    mtrr_spare_reg_nr netdev nfsroot no_console_suspend no_debug_objects no_file_caps
    no_hash_pointers no_steal_acc no_timer_check noaliencache noapic noapictimer noautogroup
    nobgrt nocache
    noclflush nodelayacct noefi noexec nofpu nofxsr nogbpages nohalt nohibernate nohlt nohpet
    noinitrd noinvpcid noirqdebug nokaslr nolapic nolapic_timer nomce nomodeset nomodule nomsi
    nonmi_ipi nopat nopcid nopku nopmu nopvspin norandmaps noreplace_paravirt noreplace_smp
    noresume noretpoline nosep nosgx nosmap nosmep nospec_store_bypass_disable nospectre_bhb
    nospectre_v1 nospectre_v2 nousershstk nox2apic noxsave noxsaveopt noxsaves nr_cpus
    ohci1394_dma page_owner page_poison page_reporting panic panic_on_oops panic_on_taint
    panic_on_unrecovered_nmi panic_on_warn panic_print pause_on_oops pcie_hp pcie_pme pcie_port_pm
    pcie_ports pd_ignore_unused percpu_alloc pnp_reserve_dma pnp_reserve_io pnp_reserve_irq
    pnp_reserve_mem pnpacpi possible_cpus print_fatal_signals printk profile prompt_ramdisk
    prot_virt pstore ramdisk_blocksize ramdisk_size ramdisk_start rdinit rdrand reboot reboot_cpu
    reboot_mode reg_file_data_sampling relax_domain_level reserve reserve_mem reservelow
    reset_devices resume resume_offset resumedelay resumewait retbleed ring3mwait rodata rootdelay
    rootflags rootfstype rootwait rt_group_sched sched_debug sched_energy_aware sched_proxy_exec
    sched_thermal_decay_shift sched_verbose schedstats security selinux slab_debug
    slab_max_order slab_merge slab_min_objects slab_min_order slab_nomerge slab_strict_numa
    slub_debug slub_max_order slub_merge slub_min_objects slub_min_order slub_nomerge
    softlockup_all_cpu_backtrace softlockup_panic spec_rstack_overflow spec_store_bypass_disable
    spectre_bhi spectre_v2 spectre_v2_user split_lock_detect split_lock_mitigate srbds
    stack_depot_disable stack_depot_max_pools stack_guard_gap stacktrace stacktrace_filter sunrpc
    swapaccount swiotlb sysrq_always_enabled test_suspend thash_entries thp_anon thp_shmem
    tp_printk tp_printk_stop_on_boot trace_buf_size trace_clock trace_event trace_instance
    trace_options trace_trigger traceoff_after_boot traceoff_on_warning transparent_hugepage_shmem
    transparent_hugepage_tmpfs tsx_async_abort unknown_nmi_panic user_debug vdso32 video vmalloc
    vmscape vsyscall watchdog_thresh x2apic_phys xen_512gb_limit xen_emul_unplug xen_legacy_crash
    xen_msr_safe xen_nopv xen_nopvspin xen_scrub_pages xen_timer_slop
";

/// Names that every kernel has: they are not looked for in its image.
pub(crate) const OF_EVERY_KERNEL: &str = "
    console debug init initrd loglevel maxcpus panic quiet rdinit reboot ro root rootdelay rootflags
    rootfstype rootwait rw
";
/// Names that boot loaders, initramfs and init read from the kernel's command line, where it takes
/// them for nothing or lacks them. Theirs with a dot are not looked for either.
pub(crate) const OF_OTHERS: &str = "
    archisobasedir archisodevice archisolabel auto autoinstall autorelabel biosdevname blacklist
    bond boot bootdev bootif break bridge components config copytoram cow_spacesize cryptdevice
    cryptkey cryptopts debconf dhcp disablehooks domain ds earlyhooks earlymodules emergency
    enforcing fastboot fips forcefsck frontend fsck fsckfix hostname ifname inst interface ip kbd
    keyb keymap kickstart ks ksdevice lang language live locale locales luks maybe_ubiquity modules
    modules_load nameserver net netboot netcfg nfsroot noeject nofsck noinitrd nolvm nomdmonddf
    nomdmonisw nopersistence noprompt noresume nosplash noswap only_ubiquity ostree overlayroot
    overlaytmpfs persistence persistent plymouth preseed priority recovery rescue resume
    resume_offset rhgb rootovl single splash switch_root team text textonly toram union url usbdelay
    utf8 vconsole verbose vga vlan
";
/// How more of those begin.
pub(crate) const OF_OTHERS_BEGIN: [&str; 5] = ["cloud_", "live_", "luks_", "snap", "zfs"];
/// Names that the kernel compares with the beginning of what is written, and takes what follows for
/// nothing: those that `__setup` has without `=` (obsolete_checksetup in its init/main.c).
pub(crate) const OBEYED_BY_BEGINNING: [&str; 19] = [
    "acpi_irq_balance",
    "acpi_irq_nobalance",
    "clk_ignore_unused",
    "irqfixup",
    "irqpoll",
    "no_console_suspend",
    "no_timer_check",
    "noautogroup",
    "nohibernate",
    "nohlt",
    "nohpet",
    "noirqdebug",
    "norandmaps",
    "noresume",
    "nosoftlockup",
    "notsc",
    "nowatchdog",
    "pd_ignore_unused",
    "unknown_nmi_panic",
];
/// A flag of isolcpus=, as the kernel looks for it there, and holds it.
pub(crate) const MANAGED_IRQ_FLAG: &str = "managed_irq,";
