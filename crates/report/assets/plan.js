// SPDX-License-Identifier: MIT OR Apache-2.0
// The page of a plan: which combinations are drawn, chosen in the table or in the heat map, and what the heat map shows.
'use strict';

{
  const data = JSON.parse(document.getElementById('data').textContent);
  const { factors, figures, varied, combinations } = data.plan;
  const byRow = new Map(combinations.map((combination) => [combination.row, combination]));
  const at = (id) => document.getElementById(id);
  /** More curves than this cannot be told apart. */
  const MOST = 16;
  const chosen = new Set(data.plan.selected);
  let pooled = true;

  const named = (value) => value ?? '–';
  const nameOf = (combination) => varied.map((factor) => factors[factor].values[combination.at[factor]]).filter((value) => value !== null).join(', ');

  // ---- What is drawn.

  const boxes = new Map([...document.querySelectorAll('tr[data-row] input')].map((box) => [Number(box.closest('tr').dataset.row), box]));

  /** A distribution of several runs: it has no course over time. */
  const NO_COURSE = { threads: [], worst: [], loads: { drawn: [], left_out: 0 } };

  const inOrder = () => [...chosen].sort((a, b) => a - b);

  /** Curves, and the runs over time; those of one combination have its colour where repeats are pooled. */
  function selection() {
    const [recordings, courses] = [[], []];
    for (const { curve, runs } of inOrder().map((row) => byRow.get(row))) {
      const place = recordings.length;
      if (pooled && curve) recordings.push({ ...curve, ...NO_COURSE });
      else recordings.push(...runs.map((run) => data.recordings[run]));
      courses.push(...runs.map((run, n) => ({ ...data.recordings[run], place: pooled ? place : place + n })));
    }
    return { edges_ns: data.edges_ns, recordings, courses };
  }

  function told() {
    const rows = [...chosen].map((row) => byRow.get(row));
    const without = rows.filter((combination) => !combination.curve && combination.runs.length === 0).length;
    const hidden = rows.reduce((sum, combination) => sum + combination.recorded - combination.runs.length, 0);
    const parts = [];
    if (rows.length === 0) parts.push('Nothing: tick combinations in the table, or click into the heat map.');
    if (without > 0) parts.push(`There is no room on this page for the distribution of ${without} of the combinations that are ticked.`);
    if (hidden > 0) parts.push(`${hidden} of their runs are not on this page over time: those with the latest wake-ups are.`);
    return parts.join(' ');
  }

  let begun = false;
  function draw() {
    for (const [row, box] of boxes) {
      box.checked = chosen.has(row);
      box.closest('tr').classList.toggle('chosen', box.checked);
    }
    const order = inOrder();
    for (const [row, box] of boxes) {
      const place = order.indexOf(row);
      const mark = box.nextElementSibling ?? box.parentElement.appendChild(document.createElement('i'));
      mark.className = place >= 0 && pooled ? `swatch s${place % 8}` : 'swatch none';
    }
    at('chosen').textContent = `${chosen.size} of ${combinations.length} drawn`;
    at('none').disabled = chosen.size === 0;
    at('drawn-note').textContent = told();
    at('repeats').hidden = ![...chosen].some((row) => byRow.get(row).recorded > 1);
    at('drawn').hidden = at('repeats').hidden && told() === '';
    if (begun) Page.show(selection());
    else Page.open(selection());
    begun = true;
    heat();
  }

  function toggle(row) {
    if (!byRow.has(row)) return;
    if (!chosen.delete(row)) {
      if (chosen.size === MOST) {
        at('chosen').textContent = `${MOST} are drawn, and more could not be told apart`;
        const box = boxes.get(row);
        if (box) box.checked = false;
        return;
      }
      chosen.add(row);
    }
    draw();
  }

  for (const [row, box] of boxes) {
    box.addEventListener('change', () => toggle(row));
    box.closest('tr').addEventListener('click', (event) => {
      // Text may be marked to be copied.
      if (event.target !== box && String(getSelection()) === '') toggle(row);
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

  // ---- The heat map.

  const three = new Intl.NumberFormat('en-US', { maximumSignificantDigits: 3 });
  const whole = new Intl.NumberFormat('en-US');
  const shown = (figure, value) => (value === null ? '–' : figure.unit === 'ns' ? three.format(value / 1000) : whole.format(value));
  const others = new Map();

  /** The factor with most values goes down, the first of the others across. */
  function arrange() {
    const [down, across] = [at('down'), at('across')];
    const most = [...varied].sort((a, b) => factors[b].values.length - factors[a].values.length || a - b)[0];
    down.value = String(most);
    across.value = String(varied.find((factor) => factor !== most));
    for (const select of [down, across]) {
      select.addEventListener('change', () => {
        const other = select === down ? across : down;
        if (other.value === select.value) other.value = String(varied.find((factor) => String(factor) !== select.value));
        choices();
        heat();
      });
    }
    at('figure').addEventListener('change', heat);
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
      select.append(new Option('any: the worst', ''), ...factors[factor].values.map((value, n) => new Option(named(value), String(n))));
      select.value = before.get(factor) ?? '';
      others.set(factor, select.value);
      select.addEventListener('change', () => { others.set(factor, select.value); heat(); });
      label.append(`${factors[factor].name} `, select);
      place.append(label);
    }
  }

  /** For each cell the combination with the largest figure; and the smallest and largest of all. */
  function cells(figure, down, across) {
    const grid = factors[down].values.map(() => factors[across].values.map(() => null));
    for (const combination of combinations) {
      if ([...others].some(([factor, value]) => value !== '' && String(combination.at[factor]) !== value)) continue;
      const [row, column] = [combination.at[down], combination.at[across]];
      const [value, known] = [combination.figures[figure], grid[row][column]];
      if (known === null || (value ?? -Infinity) > (known.figures[figure] ?? -Infinity)) grid[row][column] = combination;
    }
    const values = grid.flat().filter(Boolean).map((combination) => combination.figures[figure]).filter((value) => value !== null);
    return { grid, low: values.reduce((a, b) => Math.min(a, b), Infinity), high: values.reduce((a, b) => Math.max(a, b), -Infinity) };
  }

  /** 0 to 1; latencies logarithmically, and counts too, from 1 on. */
  function share(value, low, high) {
    const [from, to, here] = [low, high, value].map((n) => Math.log(Math.max(1, n)));
    return to > from ? (here - from) / (to - from) : 0;
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
      for (const combination of line) row.append(cellOf(combination, number, figure, low, high));
    });
    const focus = place.contains(document.activeElement) ? document.activeElement.dataset.row : undefined;
    place.replaceChildren(table);
    if (focus !== undefined) place.querySelector(`button[data-row="${focus}"]`)?.focus();
    const unit = figure.unit === 'ns' ? ' µs' : '';
    at('heat-scale').textContent = Number.isFinite(low)
      ? `${figure.name}, from ${shown(figure, low)} to ${shown(figure, high)}${unit}, shaded logarithmically. Framed: drawn below.`
      : `No combination has enough samples for ${figure.name}.`;
  }

  function cellOf(combination, number, figure, low, high) {
    const cell = document.createElement('td');
    const value = combination?.figures[number] ?? null;
    if (value === null) {
      cell.textContent = '–';
      cell.className = 'empty';
      if (combination) cell.title = combination.recorded > 0 ? 'too few samples for this figure' : 'nothing recorded';
      return cell;
    }
    const button = document.createElement('button');
    button.type = 'button';
    button.dataset.row = String(combination.row);
    button.textContent = shown(figure, value);
    const exact = figure.unit === 'ns' ? `${whole.format(value)} ns` : whole.format(value);
    button.title = `${nameOf(combination)}: ${figure.name} ${exact}`;
    button.setAttribute('aria-pressed', String(chosen.has(combination.row)));
    const part = share(value, low, high);
    cell.style.setProperty('--share', `${Math.round(part * 100)}%`);
    cell.className = part > 0.5 ? 'dark' : '';
    button.addEventListener('click', () => toggle(combination.row));
    cell.append(button);
    return cell;
  }

  for (const part of document.querySelectorAll('.scripted, #combinations .controls, #combinations input, #heat-map .controls, #heat, #heat-scale')) part.hidden = false;
  for (const part of document.querySelectorAll('.unscripted')) part.hidden = true;
  document.querySelector('#heat-map .paper')?.classList.add('only-print');
  document.documentElement.classList.add('chosen-by-reader');
  addEventListener('beforeprint', Page.print);
  if (at('heat')) arrange();
  draw();
}
