// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why each thing that `teiji check` looks at matters for latency, in Japanese.

/// Of a check by its name; none of one that is not known.
pub(super) fn why(check: &str) -> Option<&'static str> {
    Some(match check {
        "preemption" => {
            "カーネル内のプリエンプトできない区間では、起床すべきスレッドが待たされます。\
             PREEMPT_RT でなければ ms、PREEMPT_RT で数十 µs です。"
        }
        "high-resolution-timers" => {
            "高分解能タイマーがないと、タイマーは次のティックで満了します(100 Hz で最大 10 ms \
             の遅れ)。"
        }
        "debug-options" => {
            "ロックやメモリの検査機能は、ロックと割り当てのたびに時間がかかり、\
             割り込み禁止区間でも動きます。"
        }
        "full-dynticks" => {
            "NO_HZ_FULL がないと、分離した CPU でもティックが毎秒 100 から 1,000 回割り込みます。"
        }
        "rcu-callbacks" => {
            "RCU のコールバックは、オフロードしない限り、登録した CPU で実行されます。"
        }
        "co-kernel" => {
            "コカーネル上で動くのは、その呼び出しを使うスレッドだけです。Linux はその後で動きます。"
        }
        "co-kernel-gravity" => {
            "コカーネルは、起床にかかる時間だけタイマーを早めて設定します。ほかの機械の値では、\
             起床が遅れるか早すぎます。"
        }
        "co-kernel-neighbours" => {
            "Linux が選ぶアイドル状態や周波数は、コカーネルのスレッドも遅らせます。\
             ページを移動すると、そのスレッドでページフォルトが起きます。"
        }
        "isolation" => "分離していない CPU には、スケジューラがどのスレッドでも割り当てます。",
        "arguments-agree" => {
            "指定から漏れた CPU には、ティック、割り込み、RCU コールバックのいずれかが残ります(RCU \
             コールバックは nohz_full= でもオフロードされます)。"
        }
        "arguments-in-effect" => {
            "カーネルが読めない、または対応していない指定は、何の効果もなく無視されます。"
        }
        "arguments-spelled" => {
            "カーネルは知らない引数を無視します。綴りを誤った引数には効果がありません。"
        }
        "interrupts-on-measured-cpus" => {
            "割り込みは、その CPU で動くものを 1 回あたり数 \
             µs、ハンドラが遅ければそれ以上遅らせます。"
        }
        "irqbalance" => {
            "irqbalance は、割り込みを空いている CPU、つまり締め切りを待つ CPU に移します。"
        }
        "workqueues" => {
            "CPU が決まっていないカーネルの処理は、このマスクの CPU のどれかで動きます。"
        }
        "timer-migration" => {
            "アイドルの CPU やティックのない CPU (nohz_full) で設定したタイマーは、稼働中の CPU \
             に移り、そのハンドラがそこで動きます。"
        }
        "rt-throttling" => {
            "スリープしないリアルタイムスレッドは、\
             通常のスレッドのために停止されます(標準では毎秒最大 50 ms)。"
        }
        "timer-slack" => {
            "カーネルは、通常のスレッドのスリープを、タイマースラックの範囲で遅らせ、\
             まとめて終わらせます。"
        }
        "allowed-cpus" => {
            "プログラムは、アフィニティをどう指定しても、所属する cgroup にない CPU \
             では動きません。"
        }
        "rt-group-scheduling" => {
            "RT_GROUP_SCHED では、割り当てが 0 の cgroup でリアルタイムスレッドを実行できません。"
        }
        "watchdogs" => "ウォッチドッグは、数秒ごとに各 CPU で最高優先度のスレッドを起こします。",
        "threads-above" => "同じ CPU にある同じか高い優先度のスレッドが、先に、望むだけ動きます。",
        "interrupt-threads" => {
            "測定より高い優先度の割り込みスレッドが測定を遅らせます(標準は 50)。"
        }
        "kernel-workers" => {
            "kworker は通常の優先度で動くものです。リアルタイム優先度では測定を遅らせ、\
             機械を占有することもあります。"
        }
        "same-page-merging" => {
            "KSM はメモリを走査し、統合したページを書き込み禁止にするため、\
             次の書き込みでページフォルトが起きます。"
        }
        "numa-balancing" => {
            "NUMA バランシングはページのマップを外して移動するため、\
             動作中のスレッドでページフォルトが起きます。"
        }
        "cpu-quota" => "クォータを使い切ったグループは、次の周期まで(数十 ms)待たされます。",
        "energy-preference" => {
            "プロセッサは周波数とその上げ方を自ら選び、省電力を指示されていればそれに従います。"
        }
        "time-synchronisation" => {
            "時刻を合わせるサービスは CLOCK_REALTIME をステップさせます。CLOCK_MONOTONIC \
             はステップせず、速さだけが調整されます。"
        }
        "time-stepping" => {
            "CLOCK_REALTIME \
             のステップは、その時計による締め切りをすべて動かします。スレッドは直ちに、\
             またはその分だけ遅れて起き、ログの時刻が合わなくなります。"
        }
        "system-management-interrupts" => {
            "システム管理割り込み(SMI)では、ファームウェアが動く数十 µs から数 ms の間、全 CPU \
             が止まります。カーネルはそれを検知することも遅らせることもできません。"
        }
        "isolated-offline" => "オフラインの CPU では何も動かないため、分離しても役に立ちません。",
        "smt-siblings" => "1 つのコアのスレッドは、パイプラインとキャッシュを共有します。",
        "temperature" => "温度の上限に近づくと、CPU の速度が下げられます。",
        "board-throttled" => "Raspberry Pi は、電圧が下がるか温度が上がると、クロックを下げます。",
        "board-usb-interrupts" => {
            "Raspberry Pi 3 までの USB コントローラは FIQ を使い、PREEMPT_RT でも遅らせられません。"
        }
        _ => return None,
    })
}
