// SPDX-License-Identifier: MIT OR Apache-2.0
//! Japanese for what recordings hold as sentences: warnings, what was seen, and what to do.

/// English and Japanese; `{name}` stands for what differs. The longer of two forms that both fit comes first.
pub(super) const TEXTS: &[(&str, &str)] = &[
    // The loads.
    (
        "No load on measured CPU {list}: loads run on CPU {loaded}.",
        "測定対象の CPU {list} に負荷がかかっていません。負荷は CPU {loaded} で動作します。",
    ),
    (
        "load {spec} has no cpus=, so it runs on this program's CPUs",
        "負荷 {spec} は cpus= の指定がなく、このプログラムと同じ CPU で動作",
    ),
    (
        "To load the measured CPUs too, add cpus=all: --load {load}",
        "測定対象の CPU にも負荷をかけるには cpus=all を追加してください: --load {load}",
    ),
    // The machine.
    (
        "The frequency of idle CPUs may drop, which makes wake-ups slower.",
        "CPU ガバナーが performance ではないため、低負荷時に CPU 周波数が下がり、起床遅延が増える可能性があります。",
    ),
    (
        "CPU frequency changed during the run: latencies were not measured at one speed.",
        "測定の前後で CPU 周波数が異なります。測定中の周波数は一定ではありません。",
    ),
    ("CPU {cpu}: {was} MHz before, {is} MHz after", "CPU {cpu}: 測定前 {was} MHz、測定後 {is} MHz"),
    (
        "The clocksource changed during the run: times before and after are not comparable.",
        "測定中にカーネルのクロックソースが切り替わりました。切り替えの前後の時刻は比較できません。",
    ),
    (
        "See the kernel log: sudo dmesg | grep -i clocksource",
        "理由はカーネルログを確認してください: sudo dmesg | grep -i clocksource",
    ),
    (
        "Slow clocksource {clock}: every latency includes the cost of reading it.",
        "クロックソースが {clock} です。読み出しに時間がかかるため、すべてのレイテンシに影響します。",
    ),
    ("clocksource {clock}, available: {available}", "クロックソース {clock}、利用可能: {available}"),
    (
        "See the kernel log for why there is no faster one: sudo dmesg | grep -iE 'clocksource|tsc'",
        "より高速なクロックソースがない理由はカーネルログを確認してください: sudo dmesg | grep -iE 'clocksource|tsc'",
    ),
    (
        "Virtual machine: every latency includes the delays of the hypervisor and its other guests.",
        "仮想マシン上の測定です。レイテンシにはハイパーバイザーとほかのゲストの影響が含まれます。",
    ),
    ("hypervisor on {cpu}", "ハイパーバイザー上の CPU: {cpu}"),
    (
        "To judge the hardware, measure on it. To judge the guest, measure on the hypervisor's host at the same time.",
        "ハードウェアを評価する場合は実機で測定してください。ゲストを評価する場合は、ホスト側でも同時に測定してください。",
    ),
    (
        "Steal time: the hypervisor took CPU {cpus} away for {total} ms. Wake-ups in that time were late.",
        "スティール時間: ハイパーバイザーが CPU {cpus} を合計 {total} ms の間、別の処理に割り当てました。その間の起床は遅延しています。",
    ),
    ("CPU {cpu}: {ms} ms, {share} of its time", "CPU {cpu}: {ms} ms(時間の {share})"),
    (
        "On the hypervisor's host, pin each virtual CPU to a physical CPU: virsh vcpupin DOMAIN VCPU CPU",
        "ホスト側で仮想 CPU を物理 CPU に固定してください: virsh vcpupin DOMAIN VCPU CPU",
    ),
    (
        "CPUs went offline or came online during the run. The kernel stops all other CPUs for that, and moves their work.",
        "測定中に CPU がオフラインまたはオンラインになりました。その間カーネルはほかの CPU を停止し、処理を移動します。",
    ),
    ("CPUs {was} online before, {is} after", "オンライン CPU: 測定前 {was}、測定後 {is}"),
    (
        "Find the cause (sudo dmesg | grep -i -E 'cpu ?[0-9]+'), stop it, and measure again.",
        "カーネルログ(sudo dmesg | grep -i -E 'cpu ?[0-9]+')で原因を確認し、取り除いてから再測定してください。",
    ),
    ("and {n} more", "ほか {n} 件"),
    (
        "Isolated CPU{s} {list} not measured: add -a {list}.",
        "分離 CPU(isolcpus) {list} は測定していません。-a {list} を付けてください。",
    ),
    (
        "isolated: CPU {isolated}; measured, by inherited affinity: CPU {measured}",
        "分離 CPU: {isolated}、測定した CPU(継承したアフィニティによる): {measured}",
    ),
    (
        "Name the CPUs to measure: -a {list}, or in a plan cpus = \"{list}\".",
        "測定する CPU を -a {list}、または測定計画の cpus = \"{list}\" で指定してください。",
    ),
    // The run.
    (
        "No real-time rights: measured with {got}, not {asked}. The figures say little about real-time threads.",
        "リアルタイム権限なし: {asked} を要求しましたが、{got} で測定しました。リアルタイムスレッドの性能は評価できません。",
    ),
    ("the kernel refused {asked}: {error}", "カーネルが {asked} を拒否: {error}"),
    (
        "Memory could not be locked: page faults may add latency.",
        "メモリをロックできませんでした。ページフォルトがレイテンシに現れる可能性があります。",
    ),
    ("the limit on locked memory is {limit} KiB", "ロックできるメモリの上限は {limit} KiB"),
    (
        "Raise it with a line '@realtime - memlock unlimited' in /etc/security/limits.d/realtime.conf, or run as root.",
        "/etc/security/limits.d/realtime.conf に '@realtime - memlock unlimited' を追加して上限を上げるか、root で実行してください。",
    ),
    ("Run as root.", "root で実行してください。"),
    (
        "CPUs may enter deep idle states between activations: /dev/cpu_dma_latency is not held at 0.",
        "/dev/cpu_dma_latency を 0 に固定できないため、起床の間に CPU が深いアイドル状態に入る可能性があります。",
    ),
    (
        "Run as root, or measure the machine as it is with --no-dma-latency.",
        "root で実行するか、--no-dma-latency を付けて現状のまま測定してください。",
    ),
    (
        "Slow disk: a power cut would have cost more than the last second of samples.",
        "サンプルの書き込みに時間がかかりました。この間に電源が切れると、1 秒分を超えるサンプルが失われます。",
    ),
    ("up to {seconds} s from a write until it was on the disk", "書き込みからディスクへの反映まで最大 {seconds} s"),
    ("Record to a faster disk.", "より高速なディスクに記録してください。"),
    (
        "Thread {index} was not running when the run ended: something else occupies CPU {cpu}.",
        "測定終了時にスレッド {index} が動作していませんでした。CPU {cpu} がほかの処理に占有されています。",
    ),
    ("it did not end within 3 s of the request", "終了要求から 3 s 以内に終了しませんでした"),
    (
        "{n} samples of thread {index} were lost. Their activations are counted, but they are not in the statistics.",
        "スレッド {index} のサンプル {n} 個を記録できませんでした。起床回数には含めますが、統計値には含みません。",
    ),
    ("of {n} activations that woke", "起床 {n} 回中"),
    (
        "Measure with a longer interval, fewer threads or less load, or record to a faster disk.",
        "周期を長くする、スレッド数や負荷を減らす、またはより高速なディスクに記録してください。",
    ),
    ("Thread {index} had page faults while measuring.", "スレッド {index} で測定中にページフォルトが発生しました。"),
    (
        "{minor} minor and {major} major between its first and last activation",
        "最初から最後の起床までに minor {minor} 回、major {major} 回",
    ),
    (
        "Lock memory: see the warning about it, or run as root.",
        "メモリをロックしてください(メモリロックの警告を参照)。または root で実行してください。",
    ),
    (
        "{place} was counted as {counted} and recorded as {recorded}.",
        "{place} の計数値 {counted} と記録値 {recorded} が一致しません。",
    ),
    ("the thread's own count against the samples on disk", "スレッドの計数値とディスク上のサンプルとの比較"),
    ("Please report this as a defect of teiji, with the recording.", "teiji の不具合です。記録を添えて報告してください。"),
    // Loads.
    (
        "Load '{spec}' was not steady when measuring began: its start may affect the first latencies.",
        "負荷 '{spec}' が定常状態に達する前に測定を開始しました。初期のレイテンシに負荷の起動の影響が含まれる可能性があります。",
    ),
    (
        "steady: every task has worked, and the load's rate was level for {ms} ms",
        "定常状態の条件: 全タスクが動作済みで、負荷の処理速度が {ms} ms の間一定",
    ),
    ("steady: the command has run for {seconds} s", "定常状態の条件: コマンドの実行開始から {seconds} s 経過"),
    (
        "Let it settle longer, for example with --settle 20s.",
        "--settle 20s などで、負荷が安定するまでの待ち時間を延ばしてください。",
    ),
    ("Load '{spec}' did not run under the usual conditions", "負荷 '{spec}' の実行条件が通常と異なります"),
    ("Start the measurement without nice.", "nice を付けずに測定を開始してください"),
    (
        "load_missed: load '{spec}' was off target, at {reached} % of {place} instead of {asked} %. The figures do not hold for that load.",
        "負荷の目標未達(load_missed): '{spec}' の {place} での実測負荷率 {reached} %(目標 {asked} %)。測定値は目標の負荷率での値ではありません。",
    ),
    ("CPU {cpu} was {percent} % busy in all", "CPU {cpu} の全体の使用率 {percent} %"),
    (
        "Request a lower level, or move other work off these CPUs.",
        "目標の負荷率を下げるか、これらの CPU からほかの処理を除いてください。",
    ),
    (
        "Load '{spec}' exited early. Part of the run was measured without it.",
        "負荷 '{spec}' が測定中に終了しました。測定の一部はこの負荷なしで行われています。",
    ),
    (
        "Check the kernel log for an out-of-memory kill, and measure again.",
        "メモリ不足によるプロセスの強制終了がないかカーネルログを確認し、再測定してください。",
    ),
    (
        "Run the command alone: it must run at least as long as the measurement. There is no shell. To use one, write cmd:sh -c '...'.",
        "コマンドを単独で実行し、測定より長く動き続けることを確認してください。シェルは介在しません。必要なら cmd:sh -c '...' と指定してください。",
    ),
    ("its pipes are missing", "パイプがありません"),
    ("unexpected message from its supervisor, '{line}': {error}", "負荷の管理プロセスの出力 '{line}' を解釈できません: {error}"),
    ("its supervisor exited early: {status}", "負荷の管理プロセスが終了要求の前に終了しました: {status}"),
    ("{alive} of its {tasks} tasks ran to the end", "最後まで動作していたタスクは {tasks} 個中 {alive} 個"),
    ("it did not stop within {seconds} s", "{seconds} s 以内に停止しませんでした"),
    (
        "task {task} of {tasks} (process {pid}) exited early: {how}",
        "タスク {task}/{tasks}(プロセス {pid})が途中で終了しました: {how}",
    ),
    ("it could not be killed", "強制終了できませんでした"),
    ("it printed nothing", "メッセージなし"),
    (
        "it runs at nice {nice}, inherited from its parent, and may not return to 0",
        "親プロセスと同じ nice {nice} で動作しており、0 に戻す権限がありません",
    ),
    // Other work.
    (
        "Other processes used {percent} % of one CPU: the figures are not those of the load alone.",
        "負荷以外のプロセスが CPU 1 個の {percent} % を使用しました。測定値にはこの負荷以外の影響が含まれます。",
    ),
    (
        "Other work kept CPUs up to {percent} % busy with no load added: the figures are not those of an idle machine.",
        "負荷を追加していないにもかかわらず、ほかの処理による CPU 使用率が最大 {percent} % でした。アイドル時の測定値ではありません。",
    ),
    (
        "Stop the other work and measure again. To measure under load, add one with --load.",
        "測定に関係のない処理を停止して再測定してください。負荷時の測定では --load で負荷を追加してください。",
    ),
    (
        "no visible process that is still running used CPU time",
        "参照できる範囲で現在も動作中のプロセスに、CPU 時間を使用したものはありません",
    ),
    ("CPU time of processes: {processes}", "プロセスの CPU 時間: {processes}"),
    // The interval.
    (
        "An interval of {interval} is short for this machine: many activations will be late or skipped.",
        "周期 {interval} はこのマシンには短いため、多くの起床が遅延またはスキップされます。",
    ),
    ("in a trial before the run: {percent} %, on CPU {cpu}", "測定前の試行では CPU {cpu} で {percent} %"),
    (
        "Measure with a longer interval, such as -i 200us, or with fewer threads on a CPU.",
        "-i 200us のように周期を長くするか、CPU あたりのスレッド数を減らして測定してください。",
    ),
    // Of so few words that much has their form: last.
    ("{was} before, {is} after", "測定前 {was}、測定後 {is}"),
    ("{governor} on CPU {cpus}", "CPU {cpus}: {governor}"),
];

/// What stands in the place of a figure where there is none, or of a name.
pub(super) const VALUES: &[(&str, &str)] = &[
    ("its CPUs", "割り当てた CPU"),
    ("unknown", "不明"),
    ("an unknown share", "不明な割合"),
    ("below 0.1 %", "0.1 % 未満"),
    ("CPU of unknown model", "型番不明の CPU"),
];
