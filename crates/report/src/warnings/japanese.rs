// SPDX-License-Identifier: MIT OR Apache-2.0
//! Warnings in Japanese.

use super::NextStep::{Advice, Unknown};
use super::{
    NextStep, Share, WarningText, english, findings, list, longer, on_all_cpus, raw, seconds,
    share, shell_quoted,
};
use crate::format::count;
use crate::format::micros;
use model::{
    BusyCpu, BusyProcess, LoadFailure, MemoryNotLocked, NotHeld, Steady, StolenTime, Warning,
    check_text,
};
use plan::{CpuList, LoadSpec};

pub(super) fn text(warning: &Warning) -> WarningText {
    let (message, evidence, next_step) = sentences(warning);
    WarningText { message, evidence, next_step }
}

fn advice(text: &str) -> NextStep {
    Advice(text.to_owned())
}

/// A command is the same in every language.
fn as_in_english(warning: &Warning) -> NextStep {
    english::text(warning).next_step
}

/// Message, evidence, next step.
#[expect(clippy::too_many_lines, reason = "one arm for each kind of warning")]
fn sentences(warning: &Warning) -> (String, String, NextStep) {
    match warning {
        Warning::NoRealTime { asked, granted, error, program: _ } => (
            format!(
                "リアルタイム権限なし: {asked} を要求しましたが、{granted} \
                 で測定しました。リアルタイムスレッドの性能は評価できません。"
            ),
            format!("カーネルが {asked} を拒否: {error}"),
            advice(
                "リアルタイム権限を持つグループに参加してください。手順は teiji check \
                 (rights-real-time) が示します。このシェルだけに与えるには: sudo prlimit --pid $$ \
                 --rtprio=95 --memlock=unlimited",
            ),
        ),
        Warning::MemoryNotLocked { reason } => {
            let (evidence, next_step) = match reason {
                MemoryNotLocked::LimitBytes(bytes) => (
                    format!("ロックできるメモリの上限は {} KiB", bytes / 1024),
                    "/etc/security/limits.d/realtime.conf に '@realtime - memlock unlimited' \
                     を追加して上限を上げるか、root で実行してください。",
                ),
                MemoryNotLocked::Error(error) => {
                    (format!("mlockall: {error}"), "root で実行してください。")
                }
            };
            (
                "メモリをロックできませんでした。\
                 ページフォルトがレイテンシに現れる可能性があります。"
                    .to_owned(),
                evidence,
                advice(next_step),
            )
        }
        Warning::DmaLatencyNotHeld { path, reason, error } => (
            "/dev/cpu_dma_latency を 0 に固定できないため、待機中に CPU \
             が深いアイドル状態に入る可能性があります。"
                .to_owned(),
            format!("{path} を 0 に固定できません: {error}"),
            advice(match reason {
                NotHeld::NotFound => {
                    "コンテナではデバイスを渡してください。このファイルがない x86 カーネルは \
                     processor.max_cstate=1 を付けて起動してください。現状のまま測定するには \
                     --no-dma-latency を付けてください。"
                }
                NotHeld::PermissionDenied => {
                    "root で実行するか、sudo chown $USER /dev/cpu_dma_latency \
                     で次の起動までファイルの所有者になってください。現状のまま測定するには \
                     --no-dma-latency を付けてください。"
                }
                NotHeld::Failed => {
                    "root で実行するか、--no-dma-latency を付けて現状のまま測定してください。"
                }
            }),
        ),
        Warning::IntervalShort { interval_ns, missed_percent, cpu } => (
            format!(
                "周期 {interval_ns} \
                 はこのマシンには短いため、多くが周期超過またはスキップになります。"
            ),
            format!("測定前の試行では CPU {cpu} で {missed_percent} %"),
            Advice(format!(
                "-i {} のように周期を長くするか、CPU \
                 あたりのスレッド数を減らして測定してください。",
                longer(*interval_ns)
            )),
        ),
        Warning::DiskSlow { max_delay_ns } => (
            "サンプルの書き込みに時間がかかりました。この間に電源が切れると、1 \
             秒分を超えるサンプルが失われます。"
                .to_owned(),
            format!("書き込みからディスクへの反映まで最大 {:.1} s", max_delay_ns.0 as f64 / 1e9),
            advice("より高速なディスクに記録してください。"),
        ),
        Warning::ClockStepped { clock, forwards_ns, backwards_ns } => (
            format!("測定中に {clock} が変更されました。その時点の値には変更量が含まれます。"),
            format!(
                "一度の変更は進める方向に最大 {} µs、戻す方向に最大 {} µs",
                micros(forwards_ns.0),
                micros(backwards_ns.0)
            ),
            advice(
                "時刻を変更する処理を止めるか、段階的な調整(slew)に切り替えてから、\
                 測定し直してください。",
            ),
        ),
        Warning::ThreadUnresponsive { thread, cpu, waited_ns } => (
            format!(
                "測定終了時にスレッド {thread} が動作していませんでした。CPU {cpu} \
                 がほかの処理に占有されています。"
            ),
            format!("終了要求から {} s 以内に終了しませんでした", waited_ns.0 / 1_000_000_000),
            as_in_english(warning),
        ),
        Warning::SamplesLost { thread, lost, woken } => (
            format!(
                "スレッド {thread} のサンプル {} \
                 個を記録できませんでした。回数には含めますが、統計値には含みません。",
                count(*lost)
            ),
            format!("測定した {} 個のうち", count(*woken)),
            advice(
                "周期を長くする、スレッド数や負荷を減らす、\
                 またはより高速なディスクに記録してください。",
            ),
        ),
        Warning::AccountEventsLost { cpu, events, rows } => (
            format!(
                "CPU {cpu} のトレースイベント {} 件が、カーネル内で失われました。",
                count(*events)
            ),
            format!(
                "{} 個の空白に属する可能性があり、その時間は unexplained に含まれます",
                count(*rows)
            ),
            advice("周期を短くして測定してください。カーネルの記録は周期ごとに読み出します。"),
        ),
        Warning::PageFaults { thread, minor, major } => (
            format!("スレッド {thread} で測定中にページフォルトが発生しました。"),
            format!("測定中に minor {minor} 回、major {major} 回"),
            advice(
                "メモリをロックしてください(メモリロックの警告を参照)。または root \
                 で実行してください。",
            ),
        ),
        Warning::AccountingDiffers { place, counted, recorded } => (
            format!("{place} の計数値 {counted} と記録値 {recorded} が一致しません。"),
            "スレッドの計数値とディスク上のサンプルとの比較".to_owned(),
            advice("teiji の不具合です。記録を添えて報告してください。"),
        ),
        Warning::LoadsElsewhere { bare, loaded, load } => (
            format!(
                "測定対象の CPU {} に負荷がかかっていません。負荷は CPU {} で動作します。",
                CpuList::format(bare),
                CpuList::format(loaded)
            ),
            format!("負荷 {load} は cpus= の指定がなく、このプログラムと同じ CPU で動作"),
            Advice(format!(
                "測定対象の CPU にも負荷をかけるには cpus=all を追加してください: --load {}",
                shell_quoted(&on_all_cpus(load))
            )),
        ),
        Warning::LoadNotSettled { load, steady } => (
            format!(
                "負荷 '{load}' \
                 が定常状態に達する前に測定を開始しました。\
                 初期のレイテンシに負荷の起動の影響が含まれる可能性があります。"
            ),
            match steady {
                Steady::LevelForNs(ns) => {
                    format!(
                        "定常状態の条件: 全タスクが動作済みで、負荷の処理速度が {} ms の間一定",
                        ns.0 / 1_000_000
                    )
                }
                Steady::RunningForNs(ns) => {
                    format!(
                        "定常状態の条件: コマンドの実行開始から {} s 経過",
                        ns.0 / 1_000_000_000
                    )
                }
            },
            advice("--settle 20s などで、負荷が安定するまでの待ち時間を延ばしてください。"),
        ),
        Warning::LoadConditions { load, nice } => (
            format!(
                "負荷 '{load}' は nice 0 ではなく {nice} で動作し、通常より CPU \
                 時間が少なくなりました"
            ),
            format!("nice {nice} は親プロセスから継承され、0 に戻す権限がありません"),
            advice("nice を付けずに測定を開始してください。"),
        ),
        Warning::LoadOffTarget { load, requested, reached, cpu, machine } => (
            format!(
                "負荷の目標未達(load_off_target): '{load}' の {place} での実測負荷率 {reached:.1} \
                 %(目標 {requested:.1} %)。測定値は目標の負荷率での値ではありません。",
                place = cpu.map_or_else(|| "割り当てた CPU".to_owned(), |cpu| format!("CPU {cpu}")),
            ),
            machine.iter().map(busy_in_all).collect::<Vec<_>>().join("; "),
            advice("目標の負荷率を下げるか、これらの CPU からほかの処理を除いてください。"),
        ),
        Warning::LoadDied { load, failure: why, output } => (
            format!(
                "負荷 '{load}' が測定中に終了しました。測定の一部はこの負荷なしで行われています。"
            ),
            if output.is_empty() { failure(why) } else { format!("{}; {output}", failure(why)) },
            advice(after_death(load)),
        ),
        Warning::GovernorNotPerformance { governors } => (
            "CPU ガバナーが performance ではないため、低負荷時に CPU \
             周波数が下がり、レイテンシが増える可能性があります。"
                .to_owned(),
            governors
                .iter()
                .map(|(governor, cpus)| format!("CPU {}: {governor}", CpuList::format(cpus)))
                .collect::<Vec<_>>()
                .join("; "),
            as_in_english(warning),
        ),
        Warning::FrequencyChanged { cpus } => {
            let change = cpus.iter().map(|change| {
                let (was, is) = (change.before_khz / 1_000, change.after_khz / 1_000);
                format!("CPU {}: 測定前 {was} MHz、測定後 {is} MHz", change.cpu)
            });
            (
                "測定の前後で CPU 周波数が異なります。測定中の周波数は一定ではありません。"
                    .to_owned(),
                list(change, and_more),
                as_in_english(warning),
            )
        }
        Warning::ClocksourceChanged { before, after } => (
            "測定中にカーネルのクロックソースが切り替わりました。\
             切り替えの前後の時刻は比較できません。"
                .to_owned(),
            format!("測定前 {before}、測定後 {after}"),
            advice("理由はカーネルログを確認してください: sudo dmesg | grep -i clocksource"),
        ),
        Warning::ClocksourceSlow { clocksource, available, fast } => (
            format!(
                "クロックソースが {clocksource} \
                 です。読み出しに時間がかかるため、すべてのレイテンシに影響します。"
            ),
            format!(
                "クロックソース {clocksource}、利用可能: {}",
                if available.is_empty() { "不明".to_owned() } else { available.join(" ") }
            ),
            match fast {
                Some(_) => as_in_english(warning),
                None => advice(
                    "より高速なクロックソースがない理由はカーネルログを確認してください: sudo \
                     dmesg | grep -iE 'clocksource|tsc'",
                ),
            },
        ),
        Warning::Hypervisor { cpu_model } => (
            "仮想マシン上の測定です。\
             レイテンシにはハイパーバイザーとほかのゲストの影響が含まれます。"
                .to_owned(),
            format!(
                "ハイパーバイザー上の CPU: {}",
                cpu_model.as_deref().unwrap_or("型番不明の CPU")
            ),
            advice(
                "ハードウェアを評価する場合は実機で測定してください。ゲストを評価する場合は、\
                 ホスト側でも同時に測定してください。",
            ),
        ),
        Warning::StealTime { cpus } => (
            format!(
                "スティール時間: ハイパーバイザーが CPU {} を合計 {} ms \
                 の間、別の処理に割り当てました。その間に予定されていたものは遅れています。",
                CpuList::format(&cpus.iter().map(|time| time.cpu).collect::<Vec<_>>()),
                cpus.iter().fold(0_u64, |sum, time| sum.saturating_add(time.stolen_ms))
            ),
            list(cpus.iter().map(stolen), and_more),
            advice(
                "ホスト側で仮想 CPU を物理 CPU に固定してください: virsh vcpupin DOMAIN VCPU CPU",
            ),
        ),
        Warning::CpuOfflineChanged { before, after } => (
            "測定中に CPU がオフラインまたはオンラインになりました。その間カーネルはほかの CPU \
             を停止し、処理を移動します。"
                .to_owned(),
            format!(
                "オンライン CPU: 測定前 {}、測定後 {}",
                CpuList::format(before),
                CpuList::format(after)
            ),
            advice(
                "カーネルログ(sudo dmesg | grep -i -E 'cpu \
                 ?[0-9]+')で原因を確認し、取り除いてから再測定してください。",
            ),
        ),
        Warning::IsolatedNotMeasured { isolated, measured, left_out } => {
            let cpus = CpuList::format(left_out);
            (
                format!(
                    "分離 CPU(isolcpus) {cpus} は測定していません。-a {cpus} を付けてください。"
                ),
                format!(
                    "分離 CPU: {}、測定した CPU(継承したアフィニティによる): {}",
                    CpuList::format(isolated),
                    CpuList::format(measured)
                ),
                Advice(format!(
                    "測定する CPU を -a {cpus}、または測定計画の cpus = \"{cpus}\" \
                     で指定してください。"
                )),
            )
        }
        Warning::MachineCheck { check, found, why, action } => (
            format!("レイテンシに悪い設定 {check}: {}", findings::in_japanese(found)),
            check_text(check)
                .map_or_else(|| format!("理由: {why}"), |text| text.why_in_japanese.to_owned()),
            action.as_deref().map_or(NextStep::Unknown, |action| {
                advice(&format!("対処: {}", findings::in_japanese(action)))
            }),
        ),
        Warning::OtherWork { percent, cpus, processes } => (
            if cpus.is_empty() {
                format!(
                    "負荷以外のプロセスが CPU 1 個の {percent:.1} % \
                     を使用しました。測定値にはこの負荷以外の影響が含まれます。"
                )
            } else {
                format!(
                    "負荷を追加していないにもかかわらず、ほかの処理による CPU 使用率が最大 \
                     {percent:.1} % でした。アイドル時の測定値ではありません。"
                )
            },
            other_work(cpus, processes),
            advice(if cpus.is_empty() {
                "測定に関係のない処理を停止して再測定してください。"
            } else {
                "測定に関係のない処理を停止して再測定してください。負荷時の測定では --load \
                 で負荷を追加してください。"
            }),
        ),
        Warning::StreamUnreadable { .. }
        | Warning::StreamHalfRecord { .. }
        | Warning::StreamBackwards { .. }
        | Warning::StreamTrailing { .. }
        | Warning::StreamMissed { .. }
        | Warning::StreamOffPeriod { .. }
        | Warning::StreamEnded { .. }
        | Warning::StreamSilent { .. }
        | Warning::StreamUnread { .. } => stream(warning),
        Warning::RowsUntraced { thread, rows, measured } => (
            format!(
                "スレッド {thread} の {} \
                 行は、カーネルのトレースに一部しかありません。数には含まれますが、\
                 統計値には含まれていません。",
                count(*rows)
            ),
            format!("測定した {} 行のうち", count(*measured)),
            advice(
                "トレースのバッファがあふれたか、カーネルが一部の切り替えを記録していません。\
                 頻度を下げるか、別の CPU で測定してください。",
            ),
        ),
        Warning::FellBack { thread, switches, measured } => (
            switches.map_or_else(
                || {
                    format!(
                        "スレッド {thread} \
                         がコカーネルに留まっていたかは不明です。途中のレイテンシは Linux \
                         のものである可能性があります。"
                    )
                },
                |switches| {
                    format!(
                        "スレッド {thread} は最初の行から最後の行までの間に、コカーネルから Linux \
                         へ {} 回切り替わりました。その後のレイテンシは Linux のものです。",
                        count(switches)
                    )
                },
            ),
            format!("測定した {} 行のうち", count(*measured)),
            advice(
                "ページフォールト、シグナル、デバッガーはスレッドを Linux \
                 へ切り替えます。メモリをロックし、妨げのない状態で測定してください。",
            ),
        ),
        Warning::TraceEventsLost { events, buffer_kib, unfollowed } => (
            if *events > 0 {
                format!(
                    "カーネルのトレースのイベントが少なくとも {} \
                     件失われました。それが何行になったはずかは不明で、行数にも含まれていません。",
                    count(*events)
                )
            } else {
                "プログラムの一部を追跡できませんでした。その行は数えられていません。".to_owned()
            },
            format!(
                "{}。各 CPU のバッファは {} KiB",
                if *unfollowed > 0 {
                    format!("追跡できなかったスレッドとタイマー {} 個", count(*unfollowed))
                } else {
                    "バッファあふれ".to_owned()
                },
                count(*buffer_kib)
            ),
            advice(
                "トレースの読み取りが間に合うように、プログラムが使わない CPU を -a \
                 で指定してください。",
            ),
        ),
        Warning::ProgramEnded { after_ns, planned_ns, status, signal } => (
            format!(
                "プログラムは {} 秒のうち {} 秒で終了しました{}。",
                seconds(*planned_ns),
                seconds(*after_ns),
                match (status, signal) {
                    (Some(status), _) => format!("（終了ステータス {status}）"),
                    (None, Some(signal)) => format!("（シグナル {signal}）"),
                    (None, None) => String::new(),
                }
            ),
            "統計値はそれまでに測定した分です".to_owned(),
            advice(
                "プログラムが動いている時間だけ測定してください: -d \
                 TIME。続くはずだったなら、標準エラー出力を確認してください。",
            ),
        ),
        Warning::Other(other) => (
            format!("{}: この版の teiji では解釈できない警告です。", other.code),
            raw(other),
            Unknown,
        ),
    }
}

/// Of times that came as a stream.
fn stream(warning: &Warning) -> (String, String, NextStep) {
    match warning {
        Warning::StreamUnreadable { from, records, numbers, first, first_offset, text } => (
            format!(
                "{from} の {} \
                 件のレコードは、この形式の数値として読めませんでした。統計値に含まれていません。",
                count(*records)
            ),
            format!(
                "最初は {} 番目のレコード、{} バイト目: '{text}'。読めた数値は {} 件",
                count(*first),
                count(*first_offset),
                count(*numbers)
            ),
            advice(
                "どの行の前にあったかは列 'unreadable' \
                 にあります。--width、--byte-order、ボーレートを確認してください。",
            ),
        ),
        Warning::StreamHalfRecord { from, bytes, offset, ended } => (
            if *ended {
                format!(
                    "{from} はレコードの途中で終わりました。\
                     途中までのレコードは統計値に含まれていません。"
                )
            } else {
                format!(
                    "測定は {from} \
                     のレコードの途中で終わりました。届いていた部分は統計値に含まれていません。"
                )
            },
            format!("{} バイト目から {} バイト", count(*offset), count(*bytes)),
            advice(if *ended {
                "最後の行にも改行が必要です。\
                 書き込み側のプログラムが強制終了されていないか確認してください。"
            } else {
                "残りが届くはずでなかった場合は、書き込み側の改行が抜けているか、--width \
                 が正しくありません。"
            }),
        ),
        Warning::StreamBackwards { from, steps, first, furthest_ns } => (
            format!(
                "{from} のタイムスタンプが {} 回逆戻りしました。そこでは間隔を測定していません。",
                count(*steps)
            ),
            format!("最初は {} 番目のレコード、最大 {} µs", count(*first), micros(furthest_ns.0)),
            advice(
                "カウンタの桁あふれなら --wrap 32 \
                 のようにビット数を指定してください。時計が変更されたか、\
                 プログラムが再起動したなら、測定し直してください。",
            ),
        ),
        Warning::StreamTrailing { from, unreadable, backwards } => (
            format!(
                "{from} の最後のレコードの後には行がないため、\
                 どの行にも数えられていないものがあります。"
            ),
            format!(
                "最後の行の後: 読めないレコード {} 件、逆戻り {} 回",
                count(*unreadable),
                count(*backwards)
            ),
            advice(
                "列 'unreadable' と 'backwards' \
                 には含まれていません。このストリームのほかの警告には含まれています。",
            ),
        ),
        Warning::StreamMissed { from, missed, period_ns } => (
            format!("{from} の {} 周期にはレコードがありませんでした。", count(*missed)),
            format!("周期は {} µs。各行の数は列 'missed' にあります", micros(period_ns.0)),
            advice("送り側が飛ばしたのか、FIFO や回線があふれたのかを確認してください。"),
        ),
        Warning::StreamOffPeriod { period_ns, median_ns, intervals } => (
            format!(
                "ストリームの間隔の中央値は {} µs ですが、指定された周期は {} µs \
                 です。周期か単位が誤っていれば、ジッタと欠けた周期の数も誤りです。",
                micros(median_ns.0),
                micros(period_ns.0)
            ),
            format!("間隔 {} 件", count(*intervals)),
            advice(
                "まず --unit と --hz を、次に --period \
                 を確認してください。すべて正しければ、送り側が別の周期で動いています。",
            ),
        ),
        Warning::StreamEnded { from, numbers, after_ns } => (
            format!("{from} は測定終了より前に終わりました。統計値はそれまでに届いた分です。"),
            format!("{:.3} 秒で数値 {} 件", after_ns.0 as f64 / 1e9, count(*numbers)),
            advice(
                "プログラムの書き込みを長くするか、書き込みと同じ長さで測定してください: -d TIME",
            ),
        ),
        Warning::StreamSilent { from, numbers, silent_ns } => (
            if *numbers == 0 {
                format!("{from} から数値が届きませんでした。")
            } else {
                format!(
                    "測定の最後の {:.1} 秒間、{from} から何も届きませんでした。",
                    silent_ns.0 as f64 / 1e9
                )
            },
            format!("数値 {} 件の後、{:.1} 秒間無通信", count(*numbers), silent_ns.0 as f64 / 1e9),
            advice(
                "書き込み側のプログラムが動いているか確認してください。\
                 その間に届くはずだった数は数えられていません。",
            ),
        ),
        Warning::StreamUnread { from, bytes } => (
            format!("{from} は最後まで読まれていません。"),
            format!("残り {} バイト", count(*bytes)),
            advice("-d を長くしてください。"),
        ),
        _ => (String::new(), String::new(), Unknown),
    }
}

fn and_more(left_out: usize) -> String {
    format!("ほか {left_out} 件")
}

fn busy_in_all(busy: &BusyCpu) -> String {
    format!("CPU {} の全体の使用率 {:.1} %", busy.cpu, busy.percent)
}

fn stolen(time: &StolenTime) -> String {
    let share = match share(time.stolen_ms, time.elapsed_ms) {
        Share::Unknown => "不明な割合".to_owned(),
        Share::BelowATenth => "0.1 % 未満".to_owned(),
        Share::Percent(percent) => format!("{percent:.1} %"),
    };
    format!("CPU {}: {} ms(時間の {share})", time.cpu, time.stolen_ms)
}

fn other_work(cpus: &[BusyCpu], processes: &[BusyProcess]) -> String {
    let process = |one: &BusyProcess| {
        format!("{} (pid {}) {:.2} s", one.name, one.pid, one.cpu_ms as f64 / 1_000.0)
    };
    let named = if processes.is_empty() {
        "参照できる範囲で現在も動作中のプロセスに、CPU 時間を使用したものはありません".to_owned()
    } else {
        format!("プロセスの CPU 時間: {}", list(processes.iter().map(process), and_more))
    };
    if cpus.is_empty() {
        return named;
    }
    let busy =
        list(cpus.iter().map(|busy| format!("CPU {}: {:.1} %", busy.cpu, busy.percent)), and_more);
    format!("{busy}; {named}")
}

fn failure(failure: &LoadFailure) -> String {
    match failure {
        LoadFailure::TaskExited { task, tasks, pid, status, others } => {
            let more =
                if *others > 0 { format!("、{}", and_more(*others)) } else { String::new() };
            format!("タスク {task}/{tasks}(プロセス {pid})が途中で終了しました: {status}{more}")
        }
        LoadFailure::TasksMissing { alive, tasks } => {
            format!("最後まで動作していたタスクは {tasks} 個中 {alive} 個")
        }
        LoadFailure::SupervisorExited { status } => {
            format!("負荷の管理プロセスが終了要求の前に終了しました: {status}")
        }
        LoadFailure::SupervisorNotKilled => {
            "負荷の管理プロセスを強制終了できませんでした".to_owned()
        }
        LoadFailure::SupervisorFailed { error } => format!("負荷の管理プロセスのエラー: {error}"),
        LoadFailure::UnexpectedMessage { line, error } => {
            format!("負荷の管理プロセスの出力 '{line}' を解釈できません: {error}")
        }
        LoadFailure::NotStopped { waited_s } => format!("{waited_s} s 以内に停止しませんでした"),
    }
}

fn after_death(load: &LoadSpec) -> &'static str {
    if load.command().is_some() {
        "コマンドを単独で実行し、測定より長く動き続けることを確認してください。\
         シェルは介在しません。必要なら cmd:sh -c '...' と指定してください。"
    } else {
        "メモリ不足によるプロセスの強制終了がないかカーネルログを確認し、再測定してください。"
    }
}
