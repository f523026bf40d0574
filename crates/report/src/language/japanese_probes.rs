// SPDX-License-Identifier: MIT OR Apache-2.0
//! Japanese for what the columns of probes are: a recording has that in English, as its probe
//! states it.

pub(super) const MEANINGS: &[(&str, &str)] = &[
    ("from the planned time until the thread runs again", "予定時刻からスレッドが再び動作するまで"),
    (
        "from the call to the child's first instruction after exec",
        "呼び出しから、exec 後に子プロセスが最初の命令を実行するまで",
    ),
    (
        "from the planned time until the child was waited for",
        "予定時刻から、子プロセスの終了を待ち終えるまで",
    ),
    ("from the planned time until the call", "予定時刻から呼び出しまで"),
    ("from the call to its return in the child", "呼び出しから、子プロセスに復帰するまで"),
    (
        "expiries of the timer that the kernel counted beside the one awaited",
        "カーネルが数えた、待っていた満了のほかに過ぎたタイマー満了の回数",
    ),
    (
        "how far the clock was set since the row before, forwards above 0",
        "直前の行からクロックが変更された量(進める方向が正)",
    ),
    (
        "from one return of read to the next, each for an interrupt, minus the period",
        "割り込みごとの read の復帰から次の復帰までの時間と、周期との差",
    ),
    (
        "interrupts since the one before that no read returned for",
        "直前の割り込み以降、read が復帰しなかった割り込みの回数",
    ),
    (
        "from the call that wakes to the clock read by the thread that was woken",
        "ウェイクアップの呼び出しから、ウェイクアップしたスレッドがクロックを読み出すまで",
    ),
    (
        "from the planned time until both threads were done",
        "予定時刻から両方のスレッドの処理が終わるまで",
    ),
    ("from the call that wakes until it returned", "ウェイクアップの呼び出しから、その復帰まで"),
    (
        "number of the CPU that the waking thread ran on",
        "ウェイクアップさせたスレッドが動作した CPU の番号",
    ),
    (
        "time between two successive clock reads of the polling loop",
        "ポーリングループが続けて行った 2 回のクロック読み出しの間隔",
    ),
    ("of the gap, non-maskable interrupts", "空白のうち、NMI が占めた時間"),
    ("of the gap, interrupt handlers", "空白のうち、割り込みハンドラーが占めた時間"),
    ("of the gap, soft interrupts", "空白のうち、ソフト割り込みが占めた時間"),
    ("of the gap, other threads", "空白のうち、ほかのスレッドが占めた時間"),
    (
        "of the gap, the rest: hardware or a hypervisor, and the way into the kernel and back",
        "空白の残り: ハードウェアまたはハイパーバイザー、およびカーネルへの出入り",
    ),
    (
        "trace events that were lost around the gap: what they were of is in unexplained_ns",
        "この空白の前後で失われたトレースイベントの数。その内容は unexplained_ns に含まれる",
    ),
    ("number of the CPU that the job began on", "ジョブが実行を開始した CPU の番号"),
    ("from the planned time until the job was done", "予定時刻からジョブが完了するまで"),
    ("CPU time of the job", "ジョブの CPU 時間"),
    (
        "1 if the job used more CPU time than its runtime, else 0",
        "ジョブの CPU 時間が runtime を超えたら 1、それ以外は 0",
    ),
    (
        "between two successive timestamps of the stream, minus the period",
        "ストリームの連続する 2 つのタイムスタンプの間隔と、周期との差",
    ),
    (
        "between two successive timestamps of the stream. Without a period it is unknown how many \
         events have no record",
        "ストリームの連続する 2 \
         つのタイムスタンプの間隔。周期の指定がないため、記録のない事象の数は不明",
    ),
    ("interval, as the stream gives it, minus the period", "ストリームが示す間隔と、周期との差"),
    (
        "interval, as the stream gives it. Without a period it is unknown how many events have no \
         record",
        "ストリームが示す間隔。周期の指定がないため、記録のない事象の数は不明",
    ),
    ("latency, as the stream gives it", "ストリームが示すレイテンシ"),
    (
        "records since the row before that are no number",
        "直前の行との間にある、数値として読めないレコードの数",
    ),
    (
        "steps backwards of the timestamps since the row before",
        "直前の行との間でタイムスタンプが逆戻りした回数",
    ),
    (
        "periods without a record since the row before",
        "直前の行との間にある、レコードのない周期の数",
    ),
    (
        "from the timer's expiry until the kernel's thread runs",
        "タイマーの満了から、カーネルのスレッドが動作するまで",
    ),
    (
        "from the timer's expiry until the thread is back in user space and calls read again",
        "タイマーの満了から、スレッドがユーザー空間に戻り、再び read を呼び出すまで",
    ),
    (
        "activations that passed before the thread called read again",
        "スレッドが再び read を呼び出す前に過ぎた起床予定の回数",
    ),
    (
        "from the timer's expiry until the thread runs in the kernel",
        "タイマーの満了から、スレッドがカーネル内で動作するまで",
    ),
    (
        "from the timer's expiry until its interrupt handler runs",
        "タイマーの満了から、その割り込みハンドラーが動作するまで",
    ),
    (
        "activations that passed before the kernel's thread waited for the next",
        "カーネルのスレッドが次を待つ前に過ぎた起床予定の回数",
    ),
    (
        "the longest time in one window that the CPU did not execute the tracer",
        "一つの観測区間で CPU がトレーサーを実行しなかった最長の時間",
    ),
    (
        "the longest between two readings of the clock, one right after the other",
        "続けて行った二回の時刻読み出しの間の最長の時間",
    ),
    (
        "the longest from the second reading to the first of the next two",
        "二回目の読み出しから次の一回目の読み出しまでの最長の時間",
    ),
    (
        "gaps above the threshold in the window; one where the kernel does not count them",
        "観測区間内でしきい値を超えた空白の回数(カーネルが数えない場合は 1)",
    ),
    (
        "from the planned time of the program's timer, or from being woken, until the thread runs",
        "プログラムのタイマーの予定時刻、またはウェイクアップ要求から、スレッドが動作するまで",
    ),
    ("from being woken until the thread runs", "ウェイクアップ要求からスレッドが動作するまで"),
    (
        "planned times of a periodic thread that passed since its wake-up before",
        "周期スレッドの前回のウェイクアップ以降に、ウェイクアップせずに過ぎた予定時刻の数",
    ),
    ("1: a timer of the program, 2: anything else", "1: プログラムのタイマー、2: それ以外"),
    ("number of the thread that was woken", "ウェイクアップしたスレッドの番号"),
    ("CPU that it ran on", "動作した CPU"),
    // Of the probes that tests have.
    (
        "from the planned time until the clock was read once more",
        "予定時刻からクロックをもう一度読み出すまで",
    ),
    ("0 or 1, in turn", "0 と 1 の繰り返し"),
    ("0, and in every tenth row 2", "0、10 行ごとに 2"),
    ("how long the event took", "イベントの所要時間"),
    ("of the event, from 0", "イベントの番号(0 から)"),
];
