// SPDX-License-Identifier: MIT OR Apache-2.0
//! Japanese for the sentences that figures stand in: verdict, inferences, notices, descriptions.
//! Terms are those of the field's Japanese documents: レイテンシ, 周期, 負荷, 最悪値, 標準偏差,
//! 割り込み.

/// How things are counted.
pub(super) const THINGS: &[(&str, &str)] = &[
    ("CPU", "CPU {n} 個"),
    ("activation", "起床 {n} 回"),
    ("more activation", "起床 {n} 回"),
    ("days of time", "日"),
    ("h of time", "時間"),
    ("min of time", "分"),
    ("ms of time", "ms"),
    ("s of time", "s"),
    ("µs of time", "µs"),
    ("event", "イベント {n} 件"),
    ("more event", "イベント {n} 件"),
    ("skipped event", "スキップされたイベント {n} 件"),
    ("trial", "試行 {n} 回"),
    ("more trial", "試行 {n} 回"),
    ("skipped trial", "スキップされた試行 {n} 回"),
    ("measurement", "測定値 {n} 個"),
    ("more measurement", "測定値 {n} 個"),
    ("skipped measurement", "スキップされた測定値 {n} 個"),
    ("row", "{n} 行"),
    ("gap", "ギャップ {n} 回"),
    ("system management interrupt", "システム管理割り込み {n} 回"),
    ("cluster", "{n} クラスター"),
    ("combination", "{n} 通りの組み合わせ"),
    ("latency", "レイテンシ {n} 個"),
    ("limit", "制限 {n} 件"),
    ("load", "負荷 {n} 個"),
    ("more load", "ほかの負荷 {n} 個"),
    ("pair", "{n} 組"),
    ("phase", "位相 {n} 個"),
    ("published figure", "公表値 {n} 件"),
    ("recording", "記録 {n} 件"),
    ("run", "測定 {n} 回"),
    ("sample", "サンプル {n} 個"),
    ("skipped activation", "スキップされた起床 {n} 回"),
    ("source", "{n} 種類"),
    ("task", "タスク {n} 個"),
    ("thread", "スレッド {n} 個"),
];

pub(super) const TEXTS: &[(&str, &str)] = &[
    // Verdict.
    (", ", "、"),
    ("with no load added", "負荷追加なし"),
    ("no load added", "負荷追加なし"),
    ("under {loads}", "{loads} 負荷時"),
    ("in {name}", "{name} で"),
    (" in {name}", "({name})"),
    ("{first} and {last}", "{first}、{last}"),
    ("{late} {label}", "{label} {late}"),
    (".", "。"),
    ("{max} {label}", "{label} {max}"),
    ("{rows}: {text}.", "{rows}: {text}。"),
    ("{max} {label} (the best)", "{label} {max}(最小)"),
    (" (the worst of {n} recordings)", "(記録 {n} 件中の最大)"),
    ("-{time} (early)", "-{time}(予定より早い)"),
    (
        "worst latency {phrases}{silent}. {on_time}.",
        "最大レイテンシ: {phrases}{silent}。{on_time}。",
    ),
    ("; no latency was measured in {names}", "。{names} では測定値なし"),
    ("no recording was given.", "記録が指定されていません。"),
    (
        "no gap above {threshold} was found in {windows} windows of {window}.",
        "{window} の観測区間 {windows} 個に、{threshold} を超える空白はありませんでした。",
    ),
    ("no gap above {threshold} was found.", "{threshold} を超える空白はありませんでした。"),
    ("no latency was measured.", "測定値がありません。"),
    ("no latency was measured", "測定値なし"),
    ("{n} of {due} on time", "予定された{due}のうち周期内 {n} 回"),
    ("{seen}, no interval: the recording has no samples", "{seen}。サンプルがないため信頼区間なし"),
    (
        "these are several runs, whose largest latencies have no order in time",
        "複数の測定をまとめたもので、最大付近の遅延の時間的な順序がない",
    ),
    (
        "the recording has no samples, so whether the largest latencies came together is unknown",
        "サンプルがないため、大きなレイテンシが連続したかどうかは不明",
    ),
    ("Not shown: {rows}.", "表示していない行: {rows}。"),
    (", and {events}", "、{events}"),
    (
        "The recording has no samples: what was late, skipped or lost is unknown",
        "サンプルがないため、周期超過・スキップ・欠落は不明",
    ),
    (", {n} late", "、周期超過 {n} 回"),
    (", 1 period missed", "、欠けた周期 1 回"),
    (", {n} periods missed", "、欠けた周期 {n} 回"),
    (", {n} skipped", "、スキップ {n} 回"),
    ("No real-time rights in {names} ({how})", "{names} はリアルタイム権限なし({how})"),
    ("{conditions}: ", "{conditions}: "),
    (
        "thread {threads} kept off its CPU until the run was ended, with {rows} waiting up to \
         {time}",
        "スレッド {threads} が測定終了まで CPU を得られず、{rows}の待ち時間は最大 {time}",
    ),
    ("thread kept off its CPU", "CPU を得られないスレッドあり"),
    (
        "steal time {percent} % ({time}) on CPU {cpu}",
        "CPU {cpu} のスティール時間 {percent} %({time})",
    ),
    ("steal {percent} %", "スティール {percent} %"),
    ("other work used {percent} % of CPU {cpu}", "他の処理による CPU {cpu} の使用率 {percent} %"),
    ("other processes used {percent} % of a CPU", "他のプロセスによる CPU 使用率 {percent} %"),
    ("other work {percent} %", "他の処理 {percent} %"),
    (
        "clocksource changed from {was} to {is}",
        "クロックソースが {was} から {is} に切り替わりました",
    ),
    ("clocksource changed", "クロックソース変更"),
    ("CPUs online changed from {was} to {is}", "オンライン CPU が {was} から {is} に変化"),
    ("CPUs changed", "CPU 構成変更"),
    ("no load on measured CPU {cpus}", "測定対象の CPU {cpus} は負荷なし"),
    ("no load on CPU {cpus}", "CPU {cpus} は負荷なし"),
    ("load not steady when measuring began", "測定開始時に負荷が定常状態に未到達"),
    ("load not steady", "負荷が非定常"),
    (" and {n} more", " ほか {n} 件"),
    ("{granted} instead of {asked}", "{asked} を要求、実際は {granted}"),
    (
        "ordinary scheduling instead of {asked}",
        "{asked} を要求、実際は非リアルタイムスケジューリング",
    ),
    ("The recording", "この記録"),
    ("This recording", "この記録"),
    ("{recording} {how}.", "{recording}: {how}。"),
    (
        "is incomplete: it was cut off, and at most its last second is missing",
        "不完全: 記録が途中で途切れ、末尾の最大 1 秒分がありません",
    ),
    (
        "is incomplete: it was cut off, and its last second is missing at most, or after a power \
         cut all that was not on the disk yet",
        "不完全: 記録が途中で途切れ、末尾の最大 1 \
         秒分、停電の場合はディスクに書き込まれていなかった部分すべてがありません",
    ),
    ("was stopped before its planned end", "予定の終了時刻より前に中断されました"),
    ("was stopped early by {name}", "{name} により中断されました"),
    (
        "was stopped early: {row} of thread {thread} had a latency of {latency}, above \
         --break-above",
        "中断: スレッド {thread} の{row}のレイテンシ {latency} が指定の上限を超えました",
    ),
    (
        "was stopped early: the interval before {row} of thread {thread} was {off} too short, \
         beyond --break-above",
        "中断: スレッド {thread} の{row}の直前の間隔が {off} 短く、--break-above \
         の指定を超えました",
    ),
    (
        "was stopped early: the interval before {row} of thread {thread} was {off} too long, \
         beyond --break-above",
        "中断: スレッド {thread} の{row}の直前の間隔が {off} 長く、--break-above \
         の指定を超えました",
    ),
    (
        "was stopped early by its guard: at an interval of {interval}, nothing else had run for \
         {time}",
        "監視スレッドにより中断: 周期 {interval} の測定により、{time} \
         の間、ほかの処理が一切動作できませんでした",
    ),
    ("steady after {time}", "{time} 後に定常状態"),
    ("not steady when measuring began", "測定開始時に定常状態に達していない"),
    ("begun while measuring", "測定中に開始"),
    ("not begun", "開始せず"),
    (
        "was stopped early by its guard: at an interval of {interval}, nothing else had run on \
         CPU {cpu} for {time}",
        "監視スレッドにより途中で中断されました。周期 {interval} の測定のため、CPU {cpu} \
         ではほかの処理が {time} のあいだ動けませんでした",
    ),
    (
        "holds nothing: measuring failed ({error})",
        "には何も記録されていません。測定に失敗しました({error})",
    ),
    (
        "was stopped early: measuring failed ({error})",
        "途中で中断されました。測定に失敗しました({error})",
    ),
    (
        "was stopped early: its threads had not ended {time} after their last planned time",
        "途中で中断されました。最後の予定時刻から {time} 経ってもスレッドが終了しませんでした",
    ),
    (
        "was stopped early: writing it failed ({error})",
        "中断: 記録を書き込めなくなりました({error})",
    ),
    ("{samples} lost, with unknown latencies.", "{samples}が欠落。その値は不明です。"),
    (
        "Load off target{of}: {which} (load_off_target).",
        "負荷が目標未達{of}: {which} [load_off_target]。",
    ),
    ("off by more than 5 points", "負荷率が目標から 5 ポイントを超えて外れました"),
    (
        "{spec} reached {percent} of {place}{instead}",
        "{spec} の {place} での実測負荷率 {percent}{instead}",
    ),
    (" instead of {level}", "(目標 {level})"),
    ("each CPU", "各 CPU"),
    ("CPU use of {spec} could not be measured", "{spec} の負荷率は測定できませんでした"),
    ("the largest latency", "最大レイテンシ"),
    ("the largest latency, {label}", "最大レイテンシ、{label}"),
    ("the worst wake-up, {label}", "最大起床遅延、{label}"),
    ("the worst wake-up", "最大起床遅延"),
    (
        "At 95 % confidence, {samples} without a worse one establish a rate below 1 in {one_in}, \
         if they are independent",
        "互いに独立であれば、この最大値を超えるものは {one_in} 回に 1 \
         回未満です({samples}、信頼度 95 %)",
    ),
    // Notices.
    ("No real-time rights.", "リアルタイム権限なし。"),
    ("Measured elsewhere.", "別の場所で測定。"),
    (
        "{recording} holds times that came as a stream. This machine recorded them. How it did, \
         and how busy it was, says nothing of them, unless the stream comes from it.",
        "{recording} \
         はストリームとして届いた時刻です。このマシンは記録しただけです。\
         ストリームの送り手がこのマシンでない限り、記録の仕方や負荷は値に関係しません。",
    ),
    ("Observed on Linux {machine}", "Linux {machine} で観測"),
    ("Measured elsewhere, recorded on Linux {machine}", "別の場所で測定、Linux {machine} で記録"),
    ("of the stream", "ストリームの時計"),
    ("Ordinary scheduling.", "非リアルタイムスケジューリング。"),
    ("Incomplete run.", "測定の中断。"),
    ("Samples lost.", "サンプルの欠落。"),
    ("Bad for latency.", "レイテンシに悪い設定。"),
    (
        "{of}{bad}. The figures are those of a machine set up so. teiji check says what to do.",
        "{of}{bad}。測定値はこの設定の機械のものです。対処は teiji check で確認できます。",
    ),
    ("Load off target.", "負荷の目標未達。"),
    ("Measured with {how}", "測定時のスケジューリング: {how}"),
    ("{name}: measured with {how}", "{name}: 測定時のスケジューリング: {how}"),
    ("measured with {how}", "測定時のスケジューリング: {how}"),
    ("{measured}.", "{measured}。"),
    (
        "{measured}, as requested. These are not real-time figures.",
        "{measured}(指定どおり)。リアルタイム性能を示す値ではありません。",
    ),
    ("{of}{lost}. Their latencies are unknown.", "{of}{lost}。その値は不明です。"),
    (
        "{of}{which}. The figures hold, but not for the requested load.",
        "{of}{which}。測定値は有効ですが、目標の負荷率での値ではありません。",
    ),
    ("Virtual time.", "仮想時間。"),
    ("Emulated.", "エミュレーション。"),
    (
        "Virtual ns: {cpus} CPUs take turns, mostly of less than 0.2 µs, and each executes an \
         instruction every {ns} ns. The kernel's paths, locks and preemption points are real; \
         caches, buses, firmware and other hardware are not modelled.",
        "仮想 ns: {cpus} 個の CPU がほとんどの場合 0.2 µs 未満ずつ交替で実行され、各 CPU は {ns} \
         ns ごとに 1 命令を実行します。カーネルの実行経路、ロック、\
         プリエンプションポイントは実物と同じですが、キャッシュ、バス、\
         ファームウェアなどハードウェアの影響は含みません。",
    ),
    (
        "Virtual ns: instructions x 2^{shift} (each instruction takes {ns} ns). The kernel's \
         paths, locks and preemption points are real; caches, buses, firmware and other hardware \
         are not modelled.",
        "仮想 ns: 命令数 x 2^{shift}(1 命令 {ns} \
         ns)。カーネルの実行経路、ロック、プリエンプションポイントは実物と同じですが、キャッシュ、\
         バス、ファームウェアなどハードウェアの影響は含みません。",
    ),
    (
        "Emulated on the host's clock ({how}): whatever else the host did is in the figures, and \
         they cannot be repeated.",
        "ホストのクロックによるエミュレーション({how})。ホスト側のほかの処理の影響を含み、\
         再現性はありません。",
    ),
    ("QEMU translating each instruction", "QEMU による命令変換"),
    (
        "In the lab's virtual time (instructions, not a board's ns): ",
        "ラボの仮想時間(命令数による。実機の ns ではない): ",
    ),
    ("In the lab, emulated: ", "ラボでのエミュレーション: "),
    ("Partly in the lab, partly on real machines: ", "一部はラボ、一部は実機: "),
    // Inference.
    ("tail", "裾"),
    ("modes", "分布のピーク"),
    ("period", "周期性"),
    ("change", "測定中の変化"),
    ("at once", "同時発生"),
    ("{seen}, between {lower} and {upper}", "{seen}、信頼区間 {lower} ~ {upper}"),
    (
        "{seen}, at least {lower} (too few independent samples for an upper bound)",
        "{seen}、信頼区間 {lower} 以上(サンプル不足のため上側信頼限界は求められません)",
    ),
    ("{seen}, at most {upper}", "{seen}、上側信頼限界 {upper}"),
    (
        "{seen} (too few independent samples for an interval)",
        "{seen}(サンプル不足のため信頼区間は求められません)",
    ),
    ("not extrapolated: {why}", "外挿不可: {why}"),
    (
        "not extrapolated: the run is too short for once an hour ({basis})",
        "外挿不可: 測定時間が短く、1 時間に 1 回の値も推定できません({basis})",
    ),
    ("once an hour", "1 時間に 1 回"),
    ("once a day", "1 日に 1 回"),
    ("once a year", "1 年に 1 回"),
    ("{once} above {at} ({lower} to {upper})", "{once}は {at} 超({lower} ~ {upper})"),
    ("{levels}, if nothing changes; {basis}", "条件が同じなら{levels}。{basis}"),
    (
        "{latencies} above {threshold} in {clusters}, shape {xi} ({lower} to {upper}): {shape}",
        "しきい値 {threshold} 超の{latencies}({clusters})、形状パラメーター {xi}({lower} ~ \
         {upper}): {shape}",
    ),
    ("{share} % around {peak}", "{peak} 付近に {share} %"),
    ("bounded", "上限あり"),
    ("heavy-tailed", "裾が重い"),
    ("bounded or heavy-tailed, not certain", "上限の有無、裾の重さとも判定不能"),
    (
        "{every}: typically {latency}, at {present} % of these times, {when}",
        "{every}。代表値 {latency}、発生率 {present} %、{when}",
    ),
    (
        "{period}; about the period of teiji's recorder",
        "{period}(teiji がサンプルを書き込む周期とほぼ同じ)",
    ),
    ("half of them at the exact {row}", "半数はちょうどその{row}"),
    ("half of them within {rows}", "半数はずれが{rows}以内"),
    ("late every {n} {rows} ({time})", "{rows} {n} 回({time})ごとに周期超過"),
    ("slower every {n} {rows} ({time})", "{rows} {n} 回({time})ごとに遅延が増大"),
    ("the median", "中央値"),
    ("the 99th percentile", "99 パーセンタイル"),
    (
        "{which} goes from {before} to {after} at about {at}",
        "{which}が {at} 付近で {before} から {after} に変化",
    ),
    (
        "{which} drifts from {before} to {after} over the run",
        "{which}が測定中に {before} から {after} へ徐々に変化",
    ),
    (
        "{n} of the {latest} largest latencies of threads {one} and {other} coincide, {expected} \
         expected by chance",
        "スレッド {one} と {other} の遅延上位 {latest} 回のうち {n} 回が同時に発生(偶然の期待値 \
         {expected} 回)",
    ),
    ("and {more} more of {pairs}", "ほかに{pairs}中 {more} 組"),
    // Why a tail is not continued.
    (
        "{latencies}: too few for a tail fit, which needs {min}",
        "サンプル不足のため裾を推定できません({latencies}。{min} 個以上が必要)",
    ),
    (
        "{clusters} of large latencies: too few for a tail fit, which needs {min}",
        "大きな遅延のクラスターが不足しているため裾を推定できません({clusters}。{min} \
         個以上が必要)",
    ),
    (
        "large latencies are too clustered for a tail fit: their clusters fill {share} % of the \
         run, at most {max} % is usable",
        "大きな遅延が密集しているため裾を推定できません(クラスターが測定時間の {share} % \
         を占めます。上限は {max} %)",
    ),
    (
        "all large latencies are equal: this is a limit of the clock or the machine, not a tail",
        "大きな遅延がすべて同じ値です。クロックまたはハードウェアによる制限で、\
         分布の裾ではありません",
    ),
    (
        "no threshold gives an acceptable generalised Pareto fit (best {chance})",
        "どのしきい値でも一般化パレート分布に適合しません(最良の適合でも {chance})",
    ),
    (
        "large latencies are spread unevenly over the run: {share} of them in its first half \
         ({chance})",
        "大きな遅延の発生が測定期間中で一様ではありません。前半に {share}({chance})",
    ),
    (
        "large latencies change during the run: median {first} in the first half, {second} in the \
         second ({chance})",
        "大きな遅延の大きさが一定ではありません。中央値は前半 {first}、後半 {second}({chance})",
    ),
    (
        "the tail may be so heavy (shape up to {shape}) that it has no mean and no bound",
        "裾が平均を持たないほど重い可能性があり(形状パラメーター最大 \
         {shape})、上限を推定できません",
    ),
    (
        "two extrapolations disagree: for a run ten times as long, peaks over threshold give \
         {lower} to {upper}, block maxima {low} to {high}",
        "2 種類の外挿の結果が一致しません。10 倍の測定時間に対し、しきい値超過法(POT)では {lower} \
         ~ {upper}、ブロック最大値法では {low} ~ {high}",
    ),
    (
        "outlier: {min}, next largest {next} ({chance} for one tail). It has a cause of its own, \
         and the other latencies do not show how often or how large it comes",
        "外れ値: {min}、次に大きい値は {next}(単一の裾に対する検定 \
         {chance})。原因が別にあり、その頻度と大きさはほかの値から推定できません",
    ),
    (
        "{count} outliers: {min} and above, next largest {next} ({chance} for one tail). They \
         have a cause of their own, and the other latencies do not show how often or how large \
         they come",
        "外れ値 {count} 個: {min} 以上、次に大きい値は {next}(単一の裾に対する検定 \
         {chance})。原因が別にあり、その頻度と大きさはほかの値から推定できません",
    ),
    ("from {row} on", "{row}以降"),
    ("activation {n}", "起床 {n} 回目"),
    ("trial {n}", "試行 {n} 回目"),
    ("event {n}", "イベント {n} 件目"),
    ("measurement {n}", "測定値 {n} 個目"),
    ("gradually", "徐々に"),
    (
        "latencies change during the run: {which} goes from {before} to {after} {how} ({chance})",
        "測定中にレイテンシの分布が変化しています。{which}が {before} から {after} \
         へ({how}、{chance})",
    ),
    (
        "{name} contradicts its samples: teiji verify lists the differences.",
        "{name} の内容がサンプルと一致しません。差異は teiji verify で確認できます。",
    ),
    (
        "run.json contradicts its samples: teiji verify lists the differences",
        "run.json の内容がサンプルと一致しません(相違点は teiji verify で確認できます)",
    ),
    ("Caution: {caveat}.", "注意: {caveat}。"),
    ("{name}: {base} against {other}", "{name}: {other} に対し {base}"),
    ("skipped, and so in no latency", "スキップ(レイテンシに含まれない)"),
    ("steal time", "スティール時間"),
    ("CPUs busy, with any work", "CPU 使用率(すべての処理)"),
    ("interrupts {name}", "割り込み {name}"),
    // Comparison.
    ("; ", "。"),
    ("the same", "同一"),
    ("the same to 1 %", "差 1 % 以内"),
    ("{n} % lower", "{n} % 減少"),
    ("{n} % higher", "{n} % 増加"),
    ("{n} times as high", "{n} 倍"),
    ("{low} to {high} % lower", "{low} ~ {high} % 減少"),
    ("{low} to {high} % higher", "{low} ~ {high} % 増加"),
    ("{low} to {high} times as high", "{low} ~ {high} 倍"),
    ("beyond the axis", "軸の範囲外"),
    ("between {low} and {high}", "{low} ~ {high}"),
    ("{figure} is {change}", "{figure} は {change}"),
    ("no significant difference in {figures}", "{figures} は有意差なし"),
    ("the maximum", "max"),
    ("{second} against {first}: {parts}.", "{first} と比べた {second}: {parts}。"),
    (
        "{second} against {first}: too few independent samples to compare.",
        "{first} と比べた {second}: サンプル不足のため比較できません。",
    ),
    (
        "{recording} is given twice and counts as two runs",
        "{recording} が 2 回指定され、別々の測定として扱われています",
    ),
    (
        "not significant: only one independent large latency",
        "有意差なし: 独立した大きなレイテンシが 1 個だけです",
    ),
    (
        "not significant: the largest are equal, or have one cause",
        "有意差なし: 上位の遅延が等しいか、同じ原因によるものです",
    ),
    ("not significant: ", "有意差なし: "),
    (", but the largest is in the other", "。ただし最大値は逆です"),
    (
        "few runs of each: this holds for these runs only, other runs on the same machine may \
         differ by more",
        "測定回数が少ないため、結果はこれらの測定に限られます。同じマシンでも、\
         測定ごとの差がこれを上回ることがあります",
    ),
    (
        "the second has {n} of the {latest} largest, {expected} expected",
        "遅延上位 {latest} 回中 {n} 回が比較対象側、期待値 {expected} 回",
    ),
    (
        "the second has more of the {latest} largest latencies than expected: {n} instead of \
         {expected}",
        "遅延上位 {latest} 回中 {n} 回が比較対象側で、期待値 {expected} 回を上回ります",
    ),
    (
        "the second has fewer of the {latest} largest latencies than expected: {n} instead of \
         {expected}",
        "遅延上位 {latest} 回中 {n} 回が比較対象側で、期待値 {expected} 回を下回ります",
    ),
    (
        "~: of all threads and runs together, from the histogram, up to 1 % above",
        "~: 全スレッド・全測定の合計。ヒストグラムからの近似値(誤差 +1 % 以内)",
    ),
    ("{low} to {high} times as often", "頻度は {low} ~ {high} 倍"),
    ("at least {low} times as often", "頻度は {low} 倍以上"),
    ("at most {high} times as often", "頻度は {high} 倍以下"),
    ("less than 0.01 times as often", "頻度は 0.01 倍未満"),
    ("the ratio is inconclusive", "頻度の比は判定不能"),
    (
        "First: {first}. Second: {second}. Together these intervals hold at 95 % confidence.",
        "基準: {first}。比較対象: {second}。信頼区間は全体で 95 %(同時信頼区間)。",
    ),
    ("{second} against {first}", "{first} と {second} の比較"),
    ("{n} against {first}", "{first} と {n} 件の比較"),
    (
        "{drawn} of {all} groups drawn, those with the worst wake-ups",
        "{all} 組のうち最大起床遅延の大きい {drawn} 組を表示",
    ),
    ("Note: {note}.", "注: {note}。"),
    ("Nothing else is known to differ.", "ほかに条件の違いは検出されていません。"),
    ("What else differs:", "そのほかの条件の違い:"),
    ("What else differs", "そのほかの条件の違い"),
    ("what else differs", "そのほかの条件の違い"),
    ("first", "基準"),
    ("second", "比較対象"),
    ("second against first, 95 % together", "比較対象 / 基準(同時信頼区間 95 %)"),
    ("second against first", "比較対象 / 基準"),
    ("second over first (logarithmic)", "比較対象 / 基準(対数)"),
    ("equal", "同じ"),
    ("against", "と"),
    ("Differences", "比較結果"),
    (
        "Each figure of the second divided by that of the first, with intervals that hold \
         together at 95 % confidence. If an interval contains 1, the difference is not \
         significant. Times in µs.",
        "基準に対する比較対象の比とその信頼区間(同時信頼区間 95 %)。区間が 1 \
         を含む場合は有意差なし。単位 µs。",
    ),
    (
        "Any of these may be why the latencies differ.",
        "レイテンシの差の原因である可能性があります。",
    ),
    (
        "distributions of all repeats, latency over time of the worst one",
        "分布は全測定の合計、時間変化は最大レイテンシが最も大きい測定",
    ),
    ("{first} and {n} more", "{first} ほか {n} 件"),
    (
        "{first} and {second} cannot be compared: {why}; to compare them anyway: --anyway",
        "{first} と {second} は比較できません: {why}。それでも比較するには --anyway を付けます",
    ),
    ("{recording}: {why}", "{recording}: {why}"),
    (
        "{recordings} of {group} left out, identical to an earlier one",
        "{group} のうち{recordings}は前のものと同一のため除外",
    ),
    ("the run ended early, and the rest is unknown", "測定が中断されたため、残りの部分は不明です"),
    ("{samples} lost, with unknown latencies", "{samples}が欠落し、その値は不明です"),
    (
        "the stream's intervals are not those of the period that was given",
        "ストリームの間隔が指定された周期と一致しません",
    ),
    (
        "parts of the stream are missing or could not be read",
        "ストリームの一部が欠けているか、読み取れませんでした",
    ),
    ("the program that was measured crashed or failed", "測定対象のプログラムが異常終了しました"),
    (
        "threads of the co-kernel ran on Linux in between",
        "コカーネルのスレッドが途中で Linux 上で動作しました",
    ),
    (
        "{events} of the kernel's trace lost, and rows with them",
        "カーネルのトレースの{events}が失われ、その行も失われています",
    ),
    ("a load was off target", "負荷率が目標未達です"),
    ("{why} ({answers})", "{why}({answers})"),
    ("their times are of different kinds", "時間の種類(実機、仮想時間など)が異なります"),
    ("their probes differ", "測定方法(プローブ)が異なります"),
    ("their clocks differ", "クロックが異なります"),
    ("their intervals differ", "周期が異なります"),
    ("their overrun rules differ", "周期超過後の動作が異なります"),
    ("a real machine", "実機"),
    ("the lab's virtual time", "ラボの仮想時間"),
    ("the lab, emulated", "ラボでのエミュレーション"),
    ("skipping", "スキップ"),
    ("catching up", "遅れを取り戻す"),
    // Charts in words.
    ("As measured, {without}.", "実測のみ({without})。"),
    ("{title}, as measured, {without}", "{title}(実測のみ、{without})"),
    ("without the {skipped}", "{skipped}を除く"),
    ("{name}: {figures}.", "{name}: {figures}。"),
    ("And {recordings} more.", "ほかに{recordings}。"),
    ("Number of activations by latency.", "起床遅延ごとの起床回数。"),
    (
        "Smallest and largest latency over the time of each recording.",
        "各記録のレイテンシの最小値と最大値の時間変化。",
    ),
    (
        "Smallest and largest latency over the time of each recording, and below it the CPU use \
         of its loads.",
        "各記録のレイテンシの最小値と最大値の時間変化。下段は負荷の CPU 使用率。",
    ),
    (
        "Share of activations with at least this latency, both axes logarithmic.",
        "横軸の値以上遅れた起床の割合(両対数)。",
    ),
    ("{latencies} from {min} to {max}", "{latencies}、{min} ~ {max}"),
    (", half of them up to {median}", "、中央値 {median}"),
    (", 99 % up to {p99}", "、p99 {p99}"),
    (
        ", latencies from {min} to {max}; the worst was at {at} s",
        "、レイテンシ {min} ~ {max}。最大値は {at} s",
    ),
    (
        ", latencies from {min} to {max}; the worst was at {at} s on CPU {cpu}",
        "、レイテンシ {min} ~ {max}。最大値は {at} s、CPU {cpu}",
    ),
    ("; {rows} skipped or lost", "。スキップまたは欠落: {rows}"),
    (
        "; load {load}, asked for {asked}, used from {min} % to {max} % of each of its CPUs",
        "。負荷 {load}(目標 {asked})の CPU 使用率 {min} ~ {max} %",
    ),
    ("; {loads} not drawn", "。{loads}は非表示"),
    ("1 in {one_in} at {time} or more", "{one_in} 回に 1 回は {time} 以上"),
    ("{points}; the worst at {max}", "{points}。最大値 {max}"),
];
