// SPDX-License-Identifier: MIT OR Apache-2.0
//! Japanese for what only a terminal shows: the summary of a recording, loads alone, and one factor
//! of a plan.

pub(super) const TEXTS: &[(&str, &str)] = &[
    // The noise of a polling loop.
    ("noise", "ノイズ"),
    ("noise of {recording}", "{recording} のノイズ"),
    ("{share} of the {polled} polled, in {gaps}", "ポーリングした {polled} のうち {share}({gaps})"),
    (
        "at least {share} of the {polled} polled, in {gaps}",
        "ポーリングした {polled} のうち少なくとも {share}({gaps})",
    ),
    (". The loop sees nothing shorter than {n} ns", "。ループは {n} ns より短いものを検出できない"),
    (". Only gaps above {threshold} are recorded", "。{threshold} を超えるギャップのみを記録"),
    // System management interrupts beside gaps.
    ("SMIs", "SMI"),
    ("SMIs of {recording}", "{recording} の SMI"),
    (
        "{interrupts}, counted by CPU {cpu} while it was measured",
        "計測中に CPU {cpu} が数えたのは{interrupts}",
    ),
    (
        "system management interrupts of CPU {cpu}: unknown ({why})",
        "CPU {cpu} のシステム管理割り込み: 不明({why})",
    ),
    (
        "a virtual machine does not see those of the hardware",
        "仮想マシンからはハードウェアのものが見えない",
    ),
    ("only Intel's CPUs count them", "数えるのは Intel の CPU だけである"),
    (
        "there is no /dev/cpu/N/msr: run modprobe msr",
        "/dev/cpu/N/msr がない。modprobe msr を実行すること",
    ),
    (
        "/dev/cpu/N/msr may not be read: run as root, without kernel lockdown",
        "/dev/cpu/N/msr を読む権限がない。root で、カーネルのロックダウンなしで実行すること",
    ),
    ("the CPU's counter could not be read", "CPU のカウンターを読めなかった"),
    // The summary.
    ("What the data supports, at 95 % confidence:", "データから言えること(信頼度 95 %):"),
    (
        "What the data of thread {thread} supports, at 95 % confidence:",
        "スレッド {thread} のデータから言えること(信頼度 95 %):",
    ),
    (
        "What the data of thread {thread}, the one with the largest latency, supports, at 95 % \
         confidence:",
        "最大レイテンシを記録したスレッド {thread} のデータから言えること(信頼度 95 %):",
    ),
    (", every {interval}", "、周期 {interval}"),
    (" (+{distance} for each further thread)", "(スレッドごとに +{distance})"),
    ("{length} planned", "予定: {length}"),
    (
        "{scheduling} on {core}, beside Linux {machine}",
        "{scheduling}、{core}、並行して Linux {machine}",
    ),
    ("{scheduling} on Linux {machine}", "{scheduling}、Linux {machine}"),
    ("Anonymous: names are replaced by pseudonyms", "匿名: 名前は仮名に置き換えてあります"),
    ("cpu", "CPU"),
    ("any", "任意"),
    ("on-time", "周期内"),
    ("count", "回数"),
    ("µs with skipped counted in", "単位 µs、スキップされた分を含む"),
    ("µs as measured", "単位 µs、実測値"),
    ("~ up to 1 % high", "~ は誤差 +1 % 以内"),
    ("– too few samples", "– はサンプル不足"),
    ("– not known", "– は不明"),
    ("– of counts: {why}", "回数の – : {why}"),
    ("without {time} of warm-up", "ウォームアップ {time} を除く"),
    ("As measured, without the skipped {rows}:", "実測値(スキップされた{rows}を除く):"),
    (
        "Load: requested, but its CPU use was not recorded.",
        "負荷: 指定されたが CPU 使用率の記録なし。",
    ),
    ("Load {load} on CPU {cpus}: {did}.", "負荷 {load}(CPU {cpus}): {did}。"),
    ("Load {load} on CPUs {cpus}: {did}.", "負荷 {load}(CPU {cpus}): {did}。"),
    ("asked for {level}", "目標 {level}"),
    ("OFF TARGET", "目標未達"),
    ("its CPU use could not be measured", "CPU 使用率は測定不能"),
    (
        "{mean} of each CPU reached ({worst} in its worst second)",
        "各 CPU の実測 {mean}(最低の 1 秒は {worst})",
    ),
    ("machine {busy} busy there", "その CPU 全体の使用率 {busy}"),
    ("task", "タスク"),
    ("alive throughout", "最後まで動作"),
    ("alive until the end", "終了まで動作"),
    ("stopped while measuring", "測定中に停止"),
    ("never ran", "一度も動作せず"),
    ("EXITED EARLY", "途中終了"),
    ("machine busy", "CPU 全体"),
    ("{cpus} more, with no lower CPU use.", "ほかの{cpus}の使用率はこれ以上。"),
    ("Warning: {message}", "警告: {message}"),
    ("Warning in {recordings}: {message}", "警告({recordings}): {message}"),
    ("Seen: {evidence}", "観測値: {evidence}"),
    ("{name}, as measured", "{name}、実測値"),
    // Loads alone.
    ("asked", "目標"),
    ("cpu busy", "全体"),
    ("exited early", "途中終了"),
    ("load_off_target: more than 5 points off", "load_off_target: 目標との差が 5 ポイント超"),
    (
        "Percent of one CPU, averaged over the load's CPUs where its tasks move; cpu busy: total.",
        "CPU 1 個に対する百分率。タスクが CPU 間を移動する負荷では平均。全体: その CPU \
         全体の使用率。",
    ),
    // How long a run must be.
    (
        "{activations} without an exceedance establish at {percent} % confidence a rate below 1 \
         in {one_in}, if they are independent.",
        "{activations}で一度も超過がなければ、起床が互いに独立なら、信頼度 {percent} % で発生率は \
         1/{one_in} 未満といえます。",
    ),
    ("At {interval} that is {time}.", "周期 {interval} で {time}。"),
    (
        "At {interval} on {threads} threads that is {time}.",
        "周期 {interval}、スレッド {threads} 個で {time}。",
    ),
    ("longer than 292 years", "292 年以上"),
    (
        "Latencies come in bursts and machines change, so this is the minimum.",
        "レイテンシは連続して大きくなることがあり、マシンの状態も変わるため、\
         これは最低限の値です。",
    ),
    // One factor of a plan.
    ("figure", "項目"),
    ("nothing", "なし"),
    (
        "the plan does not vary '{factor}': it varies {known}",
        "この測定計画の因子に '{factor}' はありません。因子: {known}",
    ),
    (
        "–: not measured. No two combinations differ in {name} alone, so its effect cannot be \
         shown.",
        "–: 未測定。{name} だけが異なる組み合わせがないため、効果は示せません。",
    ),
    (
        "How certain a difference is: teiji compare, with a recording of each.",
        "差の確からしさは、それぞれの記録を teiji compare で比較してください。",
    ),
    (
        "{value}: no overruns, as without{cases}.",
        "{value}: なしの場合と同じく周期超過なし{cases}。",
    ),
    (
        "{value}: no overruns, as with {first}{cases}.",
        "{value}: {first} と同じく周期超過なし{cases}。",
    ),
    (
        "{value} raises overruns from {was} to {is}{total}{rest}.",
        "{value} で周期超過が{total} {was} 回から {is} 回に増加{rest}。",
    ),
    (
        "{value} lowers overruns from {was} to {is}{total}{rest}.",
        "{value} で周期超過が{total} {was} 回から {is} 回に減少{rest}。",
    ),
    (" in all", "合計"),
    (
        "{value} raises {figure} from {was} to {is} µs{against}.",
        "{value} で {figure} が {was} µs から {is} µs に増加{against}。",
    ),
    (
        "{value} lowers {figure} from {was} to {is} µs{against}.",
        "{value} で {figure} が {was} µs から {is} µs に減少{against}。",
    ),
    (
        "{value} raises {figure} {times} times{against}{cases}.",
        "{value} で {figure} が {times} 倍に増加{against}{cases}。",
    ),
    (
        "{value} lowers {figure} {times} times{against}{cases}.",
        "{value} で {figure} が 1/{times} に減少{against}{cases}。",
    ),
    ("{min} to {max}", "{min} ~ {max}"),
    (
        "{value} raises {figure} in {up}, lowers it in {down} of {all} cases{against}.",
        "{value} で {figure} は {all} 通り中 {up} 通りで増加、{down} 通りで減少{against}。",
    ),
    (", in {n} of {all} cases with all else equal", "(ほかの条件が同じ {all} 通り中 {n} 通り)"),
    (" against {first}", "({first} に対して)"),
    // Phases of a run in the lab.
    ("95 % confidence intervals {intervals} µs.", "95 % 信頼区間 {intervals} µs。"),
    (
        "maxima of {phases} from {smallest} to {max} µs, median {median}. Worst: phase {phase}, \
         {max} µs. Again:",
        "{phases}の最大値は {smallest} ~ {max} µs、中央値 {median}。最悪: 位相 {phase}、{max} \
         µs。再現:",
    ),
    (
        "Each line is of all its phases together. A maximum is that of one way in which timers \
         met; each phase is another.",
        "各行は全位相の合算です。最大値はタイマーの重なり方の一つによるもので、\
         位相ごとに重なり方が異なります。",
    ),
    ("{name}, phase {phase}", "{name}、位相 {phase}"),
    (", phases of a run together", "(位相は合算)"),
    (
        " Phases are pooled; max of runs: the smallest and the largest of their maxima.",
        " 位相は合算しています。「測定ごとの最大値」は、各位相の最大値の範囲です。",
    ),
    (
        " Repeats and phases are pooled; max of runs: the smallest and the largest of their \
         maxima.",
        " 繰り返し測定と位相は合算しています。「測定ごとの最大値」は、各測定の最大値の範囲です。",
    ),
];
