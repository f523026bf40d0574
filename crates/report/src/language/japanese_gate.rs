// SPDX-License-Identifier: MIT OR Apache-2.0
//! What became of limits, in Japanese.

pub(super) const TEXTS: &[(&str, &str)] = &[
    ("PASS: {all}", "合格: {all}"),
    ("{recordings}, checked against {limits}", "{recordings}({limits}で判定)"),
    (
        "{recordings}, each checked against the limits of its plan",
        "{recordings}(それぞれの計画の制限で判定)",
    ),
    ("Limits of {plans}: {limits}.", "{plans} の制限: {limits}。"),
    (
        "Limits of --limit: {limits}, in place of those of {plans}.",
        "--limit の制限: {limits}({plans} の制限の代わり)。",
    ),
    ("no limit", "制限なし"),
    ("NOT ENOUGH EVIDENCE: {runs} without a recording", "判定不能: {runs}の記録がありません"),
    (
        "no limit is named for it: add [limits] to its plan, or name a --limit",
        "この記録には制限が指定されていません: 計画に [limits] を追加するか、--limit \
         を指定してください",
    ),
    ("not known", "不明"),
    (
        "{skipped} skipped, which have no value to be judged",
        "スキップ {skipped} 回には判定できる値がない",
    ),
    (
        "{second} cannot be compared with {first}: {why}",
        "{second} は {first} と比較できません: {why}",
    ),
    (
        "events are not planned: none is late or skipped",
        "イベントには予定時刻がなく、周期超過もスキップもない",
    ),
    (
        "the recording holds no samples, which would show what was late, skipped or lost and how \
         latencies were distributed",
        "記録にサンプルがないため、周期超過・スキップ・欠落も、レイテンシの分布も不明",
    ),
    (
        "FAIL: {n} of {all}; {lack} without enough evidence",
        "不合格: {all}中 {n} 件、ほか {lack} 件は判定不能",
    ),
    ("FAIL: {n} of {all}", "不合格: {all}中 {n} 件"),
    ("NOT ENOUGH EVIDENCE: {n} of {all}", "判定不能(サンプル不足): {all}中 {n} 件"),
    ("Caution: {caveat}.", "注意: {caveat}。"),
    (
        "{level} at most {percent} worse than {than}",
        "{level} の悪化が {than} に対して {percent} 以内",
    ),
    (
        "no quantile more than {percent} worse than {than}",
        "どの分位点も {than} に対する悪化が {percent} 以内",
    ),
    ("{micros} µs", "{micros} µs"),
    ("{micros} µs on thread {thread}", "{micros} µs(スレッド {thread})"),
    (
        "{n} of {all} above it, {level} allows 1 in {one_in}",
        "{all} 回中 {n} 回が超過、{level} で許容されるのは {one_in} 回に 1 回",
    ),
    (
        "{n} of {all} above it on thread {thread}, {level} allows 1 in {one_in}",
        "{all} 回中 {n} 回が超過(スレッド {thread})、{level} で許容されるのは {one_in} 回に 1 回",
    ),
    ("{rows}: too few", "{rows}: サンプル不足"),
    (
        "{n} of {all} above {limit}, rate at most {rate}",
        "{all} 回中 {n} 回が {limit} 超、発生率の上側信頼限界 {rate}",
    ),
    ("{n} of {all} above {limit}, rate {rate}", "{all} 回中 {n} 回が {limit} 超、発生率 {rate}"),
    ("{n} of {rows}", "{rows}中 {n} 回"),
    ("{is} after {was}: {change}", "{was} → {is}: {change}"),
    ("thread {thread} measured nothing", "スレッド {thread} には測定値がありません"),
    ("nothing was measured", "測定値なし"),
    ("no threads", "スレッドがありません"),
    ("at most {upper} µs, {observed} observed", "上側信頼限界 {upper} µs、実測 {observed}"),
    (
        "at most {upper} µs, {observed} observed on thread {thread}",
        "上側信頼限界 {upper} µs、実測 {observed}(スレッド {thread})",
    ),
    ("{micros} µs observed, upper bound unknown", "実測 {micros} µs、上側信頼限界は不明"),
    (
        "{micros} µs observed on thread {thread}, upper bound unknown",
        "実測 {micros} µs(スレッド {thread})、上側信頼限界は不明",
    ),
    ("~{time} of all threads", "~{time}(全スレッド)"),
    ("{level} needs {needs}", "{level} にはサンプルが {needs} 個必要です"),
    (
        "too few {rows} for an upper bound of {level} at this confidence",
        "{rows}の数が少なく、この信頼度では {level} の上側信頼限界を求められません",
    ),
    ("a longer run would give a tighter bound", "測定時間を延ばせば区間を狭められます"),
    ("needs {rows}, none above the limit", "制限を超えない{rows}がさらに必要です"),
    ("needs a longer run", "測定時間を延ばせば判定できます"),
    ("needs longer runs", "測定時間を延ばせば判定できます"),
    (
        "the order of samples is unknown, so how they depend on one another cannot be estimated",
        "サンプルの順序が不明なため、互いの依存性を推定できません",
    ),
    (
        "{second} against {first}: not compared. The order of samples is unknown, so how they \
         depend on one another cannot be estimated.",
        "{first} と比べた {second}: \
         比較できません。サンプルの順序が不明なため、互いの依存性を推定できません。",
    ),
    (
        "no samples in {recordings}. Compare recordings that hold every sample, as those of teiji \
         measure do",
        "{recordings} にはサンプルがありません。比較には、teiji measure \
         のように全サンプルを含む記録が必要",
    ),
    (
        "too few independent samples to compare any quantile",
        "独立なサンプルが少なく、比較できる分位点がありません",
    ),
    ("{percent} % below the limit", "制限より {percent} % 小さい"),
    ("less than 0.1 % below the limit", "制限より小さいが、差は 0.1 % 未満"),
    ("less than 0.1 % above the limit", "制限を超過、差は 0.1 % 未満"),
    ("{percent} % above the limit", "制限を {percent} % 超過"),
    ("{n} times the limit", "制限の {n} 倍"),
];
