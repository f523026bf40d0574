// SPDX-License-Identifier: MIT OR Apache-2.0
//! What became of limits, in Japanese.

/// English, Japanese.
pub(super) const TEXTS: &[(&str, &str)] = &[
    ("PASS: {limits}", "合格: {limits}"),
    ("not known", "不明"),
    ("{skipped} skipped, which have no value to be judged", "スキップ {skipped} 回には判定できる値がない"),
    ("{second} cannot be compared with {first}: {why}", "{second} は {first} と比較できません: {why}"),
    ("events are not planned: none is late or skipped", "イベントには予定時刻がなく、周期超過もスキップもない"),
    (
        "the recording holds no samples, which would show what was late, skipped or lost and how latencies were distributed",
        "記録にサンプルがないため、周期超過・スキップ・欠落も、レイテンシの分布も不明",
    ),
    ("FAIL: {n} of {limits}; {lacks} without enough evidence", "不合格: {limits}中 {n} 件、ほか {lacks} 件は判定不能"),
    ("FAIL: {n} of {limits}", "不合格: {limits}中 {n} 件"),
    ("NOT ENOUGH EVIDENCE: {n} of {limits}", "判定不能(サンプル不足): {limits}中 {n} 件"),
    ("Caution: {caveat}.", "注意: {caveat}。"),
    ("{level} at most {percent} worse than {than}", "{level} の悪化が {than} に対して {percent} 以内"),
    ("no quantile more than {percent} worse than {than}", "どの分位点も {than} に対する悪化が {percent} 以内"),
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
    ("{activations}: too few", "{activations}: サンプル不足"),
    ("{n} of {all} above {limit}, rate at most {rate}", "{all} 回中 {n} 回が {limit} 超、発生率の上側信頼限界 {rate}"),
    ("{n} of {all} above {limit}, rate {rate}", "{all} 回中 {n} 回が {limit} 超、発生率 {rate}"),
    ("{n} of {activations}", "{activations}中 {n} 回"),
    ("{is} after {was}: {change}", "{was} → {is}: {change}"),
    ("thread {thread} never woke", "スレッド {thread} は一度も起床していません"),
    ("nothing woke", "起床なし"),
    ("it has no threads", "スレッドがありません"),
    ("at most {upper} µs, {observed} observed", "上側信頼限界 {upper} µs、実測 {observed}"),
    ("at most {upper} µs, {observed} observed on thread {thread}", "上側信頼限界 {upper} µs、実測 {observed}(スレッド {thread})"),
    ("{micros} µs observed, upper bound unknown", "実測 {micros} µs、上側信頼限界は不明"),
    ("{micros} µs observed on thread {thread}, upper bound unknown", "実測 {micros} µs(スレッド {thread})、上側信頼限界は不明"),
    ("~{time} of all threads", "~{time}(全スレッド)"),
    ("{level} needs {needs}", "{level} には {needs} 回の起床が必要です"),
    (
        "too few activations for an upper bound of {level} at this confidence",
        "サンプル不足のため、この信頼度での {level} の信頼限界は求められません",
    ),
    ("a longer run would give a tighter bound", "測定時間を延ばせば区間を狭められます"),
    ("needs {activations}, none above the limit", "制限を超えない{activations}がさらに必要です"),
    ("needs a longer run", "測定時間を延ばせば判定できます"),
    ("needs longer runs", "測定時間を延ばせば判定できます"),
    (
        "the order of samples is unknown, so how they depend on one another cannot be estimated",
        "サンプルの順序が不明なため、互いの依存性を推定できません",
    ),
    (
        "{second} against {first}: not compared. The order of samples is unknown, so how they depend on one another cannot be estimated.",
        "{first} と比べた {second}: 比較できません。サンプルの順序が不明なため、互いの依存性を推定できません。",
    ),
    (
        "no samples of {recordings} are known; to compare: recordings that hold every sample, as teiji measure makes them",
        "{recordings} にはサンプルがありません。比較には、teiji measure のように全サンプルを含む記録が必要",
    ),
    ("too few independent wake-ups to compare any quantile", "独立な起床が少なく、比較できる分位点がありません"),
    ("{percent} % below the limit", "制限より {percent} % 小さい"),
    ("{percent} % above the limit", "制限を {percent} % 超過"),
    ("{n} times the limit", "制限の {n} 倍"),
];
