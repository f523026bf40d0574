// SPDX-License-Identifier: MIT OR Apache-2.0
//! Japanese for what the scripts of a page say.

pub(super) const TEXTS: &[(&str, &str)] = &[
    (".", "。"),
    (", ", "、"),
    ("none", "なし"),
    ("and {n} more", "ほか {n} 件"),
    ("all", "すべて"),
    ("1 in {n}", "1/{n}"),
    ("{latency} µs or more: {shares}", "{latency} µs 以上: {shares}"),
    ("has no such thread", "このスレッドはありません"),
    ("not known", "不明"),
    ("nothing was measured", "測定値なし"),
    ("jitter from {min} to {max} µs", "ジッター {min} ~ {max} µs"),
    ("no two successive activations woke", "連続する測定値なし"),
    ("{name}: {n} latencies", "{name}: サンプル {n} 個"),
    (
        "Jitter: by how much the time between two successive wake-ups differs from the interval, \
         smallest to largest at each moment. Below 0: closer together. Triangles at the top: \
         skipped or lost ones.",
        "ジッター: 連続する 2 回の間隔と周期との差。各時点の最小値から最大値までを示します。0 \
         未満は間隔が周期より短いことを表します。上端の三角はスキップまたは欠落です。",
    ),
    (
        "Smallest to largest latency at each moment. No extreme is averaged away. Rings: the ten \
         worst. Triangles at the top: skipped or lost ones.",
        "各時点のレイテンシの最小値から最大値までの範囲(極値は平均化しません)。丸は上位 10 \
         回、上端の三角はスキップまたは欠落です。",
    ),
    ("machine", "実機"),
    ("virtual", "仮想時間"),
    ("emulated", "エミュレーション"),
    ("{n} skipped or lost", "スキップまたは欠落 {n} 回"),
    ("asked for {level}, reached", "目標 {level}、実測"),
    ("as much as it gets", "負荷率の指定なし"),
    ("{n} more loads not drawn", "ほかの負荷 {n} 個は非表示"),
    ("{n} more load not drawn", "ほかの負荷 {n} 個は非表示"),
    ("{name}: {n} latencies, at most {max}", "{name}: サンプル {n} 個、最大 {max}"),
    ("{title}: nothing is drawn.", "{title}: 表示対象なし。"),
    (
        "Drag to zoom. Double click or Esc: whole range. Keyboard: + − ← →.",
        "ドラッグで拡大、ダブルクリックまたは Esc で全範囲。キーボード: + − ← →。",
    ),
    ("Light", "ライト"),
    ("Dark", "ダーク"),
    ("Use light colours", "ライト表示に切り替え"),
    ("Use dark colours", "ダーク表示に切り替え"),
    ("all runs", "全測定"),
    ("Nothing is recorded yet.", "まだ測定されていません。"),
    (
        "Nothing drawn: tick combinations in the table, or click in the heat map.",
        "表示対象なし。表のチェックボックスかヒートマップで選択してください。",
    ),
    (
        "Nothing drawn: tick combinations in the table.",
        "表示対象なし。表のチェックボックスで選択してください。",
    ),
    (
        "Repeats of each combination pooled; over time each separately.",
        "各組み合わせの繰り返し測定を合算。時間変化は測定ごと。",
    ),
    ("Each repeat separately.", "測定ごとに個別表示。"),
    (
        "Repeats not drawn: {n}. At most {max} curves are drawn.",
        "非表示の繰り返し測定: {n} 回(表示できる曲線は {max} 本まで)。",
    ),
    (
        "{n} runs have no latency over time on this page. Those with the largest latencies do.",
        "{n} 回の測定の時間変化は省略(最大レイテンシの大きいものを収録)。",
    ),
    ("{n} of {all} drawn", "{all} 通り中 {n} 通りを表示"),
    (
        "At most {n} combinations can be drawn: untick one first.",
        "表示は {n} 通りまでです。ほかの選択を解除してください。",
    ),
    (
        "The distribution of this combination is left out, for lack of space.",
        "この組み合わせの分布は省略されています。",
    ),
    ("{value}, up to 1 % above the exact one", "{value}(近似値、誤差 +1 % 以内)"),
    ("time", "時間"),
    ("any: the worst", "すべて(最大値)"),
    ("any, the worst of them", "すべて(最大値)"),
    ("time: {time}", "時間: {time}"),
    ("{figure}, {down} by {across}", "{figure}、{down} x {across}"),
    ("nothing is recorded yet", "まだ測定されていません"),
    ("no combination has enough samples for it", "すべての組み合わせでサンプル不足"),
    ("all {value}", "すべて {value}"),
    ("from {low} to {high}, shaded logarithmically", "{low} ~ {high}(濃淡は対数)"),
    ("from {low} to {high}, shaded linearly", "{low} ~ {high}(濃淡は線形)"),
    (
        " {n} combinations are left out of this page, for lack of space.",
        " {n} 通りは省略しています。",
    ),
    (" ~: from the histogram, up to 1 % above.", " ~ : ヒストグラムからの近似値(誤差 +1 % 以内)。"),
    (
        " Framed: drawn below. Dashed: another combination of the cell is drawn.",
        " 枠: グラフに表示中。破線の枠: 同じセルの別の組み合わせを表示中。",
    ),
    ("too few samples for this figure, or not known", "サンプル不足、または不明"),
    ("nothing recorded", "未測定"),
    ("; {n} of the cell’s {all} combinations drawn", "。セル内の {all} 通り中 {n} 通りを表示"),
    ("mean", "平均"),
    ("sd", "標準偏差"),
    ("max", "最大"),
    ("overruns", "周期超過"),
    ("skipped", "スキップ"),
];
