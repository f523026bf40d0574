// SPDX-License-Identifier: MIT OR Apache-2.0
// The page of a plan: which combinations are drawn, chosen in the table or in the heat map, and what the heat map shows.
'use strict';

{
  const data = JSON.parse(document.getElementById('data').textContent);
  const { factors, figures, varied, all, combinations, selected } = data.plan;
  const byRow = new Map(combinations.map((combination) => [combination.row, combination]));
  const at = (id) => document.getElementById(id);
  /** More curves than this cannot be distinguished. */
  const MOST = 16;
  const named = (value) => value ?? '–';
  /** As the program names combinations: kernels and loads are known by their looks. */
  const nameOf = (combination) => varied.flatMap((factor) => {
    const [key, value] = [factors[factor].name, factors[factor].values[combination.at[factor]]];
    if (value === null) return [];
    return [['kernel', 'load'].includes(key) && value !== 'none' ? value : `${key}=${value}`];
  }).join(tell(', ')) || tell('all runs');
  const canBeDrawn = (combination) => combination.curve !== undefined || combination.runs.length > 0;

  // ---- What is drawn.

  /** Rows, each with its place among colours and dashes, which it keeps as long as it is drawn. */
  const chosen = new Map();
  let pooled = true;
  const boxes = new Map([...document.querySelectorAll('tr[data-row] input')].map((box) => [Number(box.closest('tr').dataset.row), box]));

  function choose(row) {
    const taken = new Set(chosen.values());
    let place = 0;
    while (taken.has(place)) place += 1;
    chosen.set(row, place);
  }

  /** A distribution of several runs: it has no course over time. */
  const NO_COURSE = { threads: [], worst: [], loads: { drawn: [], left_out: 0 } };

  /** Curves, the runs over time, and how many repeats are left out because nobody could tell them apart. */
  function selection() {
    const [recordings, courses] = [[], []];
    let leftOut = 0;
    for (const row of [...chosen.keys()].sort((a, b) => a - b)) {
      const { curve, runs, recorded } = byRow.get(row);
      const place = chosen.get(row);
      const each = runs.map((run, n) => ({ ...data.recordings[run], place, dash: pooled ? undefined : place + n }));
      if (pooled && curve) {
        // A tail is fitted to one run, and goes on from no other curve than that run's.
        const tail = recorded === 1 && runs.length === 1 ? data.recordings[runs[0]].tail : null;
        recordings.push({ ...curve, ...NO_COURSE, place, tail });
        courses.push(...each);
        continue;
      }
      const room = Math.max(0, MOST - recordings.length);
      leftOut += Math.max(0, each.length - room);
      recordings.push(...each.slice(0, room));
      courses.push(...each.slice(0, room));
    }
    return { edges_ns: data.edges_ns, style: data.style, limits: data.limits, recordings, courses, leftOut };
  }

  /** What a reader must know of what is drawn. */
  function told(leftOut) {
    const rows = [...chosen.keys()].map((row) => byRow.get(row));
    const absent = rows.reduce((sum, combination) => sum + combination.recorded - combination.runs.length, 0);
    const parts = [];
    if (combinations.every((combination) => combination.recorded === 0)) parts.push(tell('Nothing is recorded yet.'));
    else if (rows.length === 0) parts.push(tell(at('heat') ? 'Nothing drawn: tick combinations in the table, or click in the heat map.' : 'Nothing drawn: tick combinations in the table.'));
    else if (rows.some((combination) => combination.recorded > 1)) parts.push(tell(pooled ? 'Repeats of each combination pooled; over time each separately.' : 'Each repeat separately.'));
    if (leftOut > 0) parts.push(tell('Repeats not drawn: {n}. At most {most} curves are drawn.', { n: leftOut, most: MOST }));
    if (absent > 0) parts.push(tell('{n} runs have no latency over time on this page. Those with the largest latencies do.', { n: absent }));
    return parts.join(' ');
  }

  function mark(row, box) {
    const place = chosen.get(row);
    box.checked = place !== undefined;
    box.closest('tr').classList.toggle('chosen', box.checked);
    const line = box.parentElement.querySelector('svg path');
    line.setAttribute('class', place === undefined ? '' : `l${place % 8}`);
    line.setAttribute('stroke-dasharray', place === undefined ? '' : Charts.dash(place).join(' '));
  }

  let begun = false;
  function draw() {
    for (const [row, box] of boxes) mark(row, box);
    const drawn = selection();
    say(tell('{n} of {all} drawn', { n: chosen.size, all }));
    at('none').setAttribute('aria-disabled', String(chosen.size === 0));
    const note = told(drawn.leftOut);
    at('drawn-note').textContent = note;
    at('repeats').hidden = ![...chosen.keys()].some((row) => byRow.get(row).recorded > 1);
    at('drawn').hidden = note === '';
    if (begun) Page.show(drawn);
    else Page.open(drawn);
    begun = true;
    heat();
  }

  /** Beside the table and below the heat map: one of them is where the reader looks. */
  function say(text) {
    at('chosen').textContent = text;
    if (at('heat-said')) at('heat-said').textContent = text;
  }

  function toggle(row) {
    const refused = refusal(row);
    if (refused !== '') {
      say(refused);
      if (boxes.has(row)) mark(row, boxes.get(row));
      return;
    }
    if (!chosen.delete(row)) choose(row);
    draw();
  }

  function refusal(row) {
    if (chosen.has(row)) return '';
    if (chosen.size >= MOST) return tell('At most {n} combinations can be drawn: untick one first.', { n: MOST });
    return canBeDrawn(byRow.get(row)) ? '' : tell('The distribution of this combination is left out, for lack of space.');
  }

  function begin() {
    for (const [row, box] of boxes) {
      box.parentElement.insertAdjacentHTML('beforeend', '<svg width="22" height="10" aria-hidden="true"><path d="M1 5H21"/></svg>');
      box.disabled = !canBeDrawn(byRow.get(row) ?? { runs: [] });
      if (box.disabled) box.title = tell('The distribution of this combination is left out, for lack of space.');
      box.addEventListener('change', () => toggle(row));
      box.closest('tr').addEventListener('click', (event) => {
        // Text may be marked to be copied.
        if (event.target !== box && !box.disabled && String(getSelection()) === '') toggle(row);
      });
    }
    at('none').addEventListener('click', () => { chosen.clear(); draw(); });
    for (const button of document.querySelectorAll('[data-repeats]')) {
      button.addEventListener('click', () => {
        pooled = button.dataset.repeats === 'pooled';
        for (const other of document.querySelectorAll('[data-repeats]')) other.setAttribute('aria-pressed', String(other === button));
        draw();
      });
    }
    selected.filter((row) => canBeDrawn(byRow.get(row))).forEach(choose);
  }

  // ---- The heat map.

  const whole = new Intl.NumberFormat('en-US');
  const UNITS = [[1e9, 's'], [1e6, 'ms'], [1e3, 'µs'], [1, 'ns']];

  /** Three digits and a unit, as the program writes them: what was seen at most is rounded up. */
  function threeDigits(ns, round) {
    let step = 1;
    while (round(Math.abs(ns) / step) >= 1000) step *= 10;
    const rounded = round(Math.abs(ns) / step) * step;
    const [unit, suffix] = UNITS.find(([unit]) => rounded >= unit) ?? UNITS.at(-1);
    const places = Math.log10(unit / Math.min(step, unit));
    return `${ns < 0 ? '-' : ''}${(rounded / unit).toFixed(places)} ${suffix}`;
  }

  /** A figure in a cell; `~` where it is from the histogram. */
  function shown(figure, value) {
    if (figure.unit !== 'ns') return whole.format(value);
    return `${figure.approximate ? '~' : ''}${threeDigits(value, figure.at_most && value >= 0 ? Math.ceil : Math.round)}`;
  }

  /** The same with all that is known. */
  function inFull(figure, value) {
    if (figure.unit !== 'ns') return whole.format(value);
    return figure.approximate ? tell('{value}, up to 1 % above the exact one', { value: shown(figure, value) }) : `${whole.format(value)} ns`;
  }

  /** For each factor that goes neither down nor across, which of its values; '' for any. */
  const others = new Map();

  /** Kinds of time that figures are on: no cell compares one with another. */
  const times = ['machine', 'virtual', 'emulated'].filter((kind) => combinations.some((combination) => combination.time === kind));
  let time = times[0];

  /** The factor with most values goes down, the first of the others across. */
  function arrange() {
    const [down, across] = [at('down'), at('across')];
    const most = [...varied].sort((a, b) => factors[b].values.length - factors[a].values.length || a - b)[0];
    down.value = String(most);
    across.value = String(varied.find((factor) => factor !== most));
    for (const [select, other] of [[down, across], [across, down]]) {
      let before = select.value;
      select.addEventListener('focus', () => { before = select.value; });
      select.addEventListener('change', () => {
        if (other.value === select.value) other.value = before;
        before = select.value;
        choices();
        heat();
      });
    }
    at('figure').addEventListener('change', heat);
    if (times.length > 1) {
      const select = document.createElement('select');
      select.id = 'time';
      select.append(...times.map((kind) => new Option(tell(kind), kind)));
      select.addEventListener('change', () => { time = select.value; heat(); });
      const label = document.createElement('label');
      label.append(`${tell('time')} `, select);
      at('others').before(label);
    }
    choices();
  }

  /** A choice for each factor that goes neither down nor across. */
  function choices() {
    const place = at('others');
    place.textContent = '';
    const before = new Map(others);
    others.clear();
    for (const factor of varied) {
      if ([at('down').value, at('across').value].includes(String(factor))) continue;
      const label = document.createElement('label');
      const select = document.createElement('select');
      select.append(new Option(tell('any: the worst'), ''), ...factors[factor].values.map((value, n) => new Option(named(value), String(n))));
      select.value = before.get(factor) ?? '';
      others.set(factor, select.value);
      select.addEventListener('change', () => { others.set(factor, select.value); heat(); });
      label.append(`${factors[factor].name} `, select);
      place.append(label);
    }
  }

  /** For each cell its combinations, the one with the largest figure first; and the smallest and largest of those. */
  function cells(figure, down, across) {
    const grid = factors[down].values.map(() => factors[across].values.map(() => []));
    for (const combination of combinations) {
      if (combination.time !== null && combination.time !== time) continue;
      if ([...others].some(([factor, value]) => value !== '' && String(combination.at[factor]) !== value)) continue;
      grid[combination.at[down]][combination.at[across]].push(combination);
    }
    const known = (combination) => combination.figures[figure] ?? -Infinity;
    for (const cell of grid.flat()) cell.sort((a, b) => known(b) - known(a) || a.row - b.row);
    const values = grid.flat().map(([worst]) => worst?.figures[figure] ?? null).filter((value) => value !== null);
    return { grid, low: values.reduce((a, b) => Math.min(a, b), Infinity), high: values.reduce((a, b) => Math.max(a, b), -Infinity) };
  }

  /** 0 to 1: latencies logarithmically; counts too, but from 0, which is not the same as 1. */
  function share(figure, value, low, high) {
    const from = figure.unit === 'ns' ? (n) => Math.log(Math.max(1, n)) : Math.log1p;
    return from(high) > from(low) ? (from(value) - from(low)) / (from(high) - from(low)) : 0;
  }

  function heat() {
    const place = at('heat');
    if (!place) return;
    const [number, down, across] = ['figure', 'down', 'across'].map((id) => Number(at(id).value));
    const figure = figures[number];
    const { grid, low, high } = cells(number, down, across);
    const table = document.createElement('table');
    table.className = 'heat';
    const head = table.createTHead().insertRow();
    for (const text of [`${factors[down].name} ╲ ${factors[across].name}`, ...factors[across].values.map(named)]) {
      const cell = document.createElement('th');
      cell.scope = 'col';
      cell.textContent = text;
      head.append(cell);
    }
    const body = table.createTBody();
    grid.forEach((line, n) => {
      const row = body.insertRow();
      const name = document.createElement('th');
      name.scope = 'row';
      name.textContent = named(factors[down].values[n]);
      row.append(name);
      for (const cell of line) row.append(cellOf(cell, number, low, high));
    });
    const focus = place.contains(document.activeElement) ? document.activeElement.dataset.row : undefined;
    place.replaceChildren(table);
    if (focus !== undefined) place.querySelector(`button[data-row="${focus}"]`)?.focus();
    at('heat-scale').textContent = caption(figure, down, across, low, high);
  }

  /** What the map shows, in words: on paper there is nothing else that says so. */
  function caption(figure, down, across, low, high) {
    const fixed = [...others].map(([factor, value]) => `${factors[factor].name} ${value === '' ? tell('any, the worst of them') : named(factors[factor].values[Number(value)])}`);
    const on = times.length > 1 ? [tell('time: {time}', { time: tell(time) })] : [];
    const what = [tell('{figure}, {down} by {across}', { figure: tell(figure.name), down: factors[down].name, across: factors[across].name }), ...fixed, ...on].join('; ');
    const nothing = combinations.every((combination) => combination.recorded === 0);
    if (!Number.isFinite(low)) return `${what}: ${tell(nothing ? 'nothing is recorded yet' : 'no combination has enough samples for it')}${tell('.')}`;
    const range = low === high ? tell('all {value}', { value: shown(figure, low) }) : tell('from {low} to {high}, shaded logarithmically', { low: shown(figure, low), high: shown(figure, high) });
    const without = all - combinations.length;
    const absent = without > 0 ? tell(' {n} combinations are left out of this page, for lack of space.', { n: without }) : '';
    const approximate = figure.approximate ? tell(' ~: from the histogram, up to 1 % above.') : '';
    return `${what}: ${range}${tell('.')}${approximate}${absent}${tell(' Framed: drawn below. Dashed: another combination of the cell is drawn.')}`;
  }

  function cellOf(all, number, low, high) {
    const cell = document.createElement('td');
    const figure = figures[number];
    const [worst] = all;
    const value = worst?.figures[number] ?? null;
    if (value === null) {
      cell.textContent = '–';
      cell.className = 'empty';
      if (worst) cell.title = all.some((combination) => combination.recorded > 0) ? tell('too few samples for this figure') : tell('nothing recorded');
      return cell;
    }
    const button = document.createElement('button');
    button.type = 'button';
    button.dataset.row = String(worst.row);
    button.textContent = shown(figure, value);
    const drawn = all.filter((combination) => chosen.has(combination.row)).length;
    const of = all.length > 1 && drawn > 0 ? tell('; {n} of the cell’s {all} combinations drawn', { n: drawn, all: all.length }) : '';
    const text = `${nameOf(worst)}: ${tell(figure.name)} ${inFull(figure, value)}${of}`;
    button.setAttribute('aria-label', text);
    button.setAttribute('aria-pressed', chosen.has(worst.row) ? 'true' : drawn > 0 ? 'mixed' : 'false');
    for (const event of ['focus', 'pointerenter']) button.addEventListener(event, () => { at('heat-said').textContent = text; });
    const part = share(figure, value, low, high);
    // The middle is left out: neither dark nor light figures can be read well on it.
    cell.style.setProperty('--share', `${Math.round(part > 0.5 ? 66 + (part - 0.5) * 68 : part * 88)}%`);
    cell.className = part > 0.5 ? 'dark' : '';
    button.addEventListener('click', () => toggle(worst.row));
    cell.append(button);
    return cell;
  }

  // ---- Begin.

  const reveal = '.scripted, #combinations .controls, #combinations input, #heat-map .controls, #heat, #heat-scale, #heat-said';
  for (const part of document.querySelectorAll(reveal)) part.hidden = false;
  for (const part of document.querySelectorAll('.unscripted')) part.hidden = true;
  document.querySelector('#heat-map .paper')?.classList.add('only-print');
  document.documentElement.classList.add('chosen-by-reader');
  addEventListener('beforeprint', Page.print);
  begin();
  if (at('heat')) arrange();
  draw();
}
