// SPDX-License-Identifier: MIT OR Apache-2.0
// The pages beside the report in English.
//   TEIJI_JAPANESE         the report of the same recordings, as `teiji report --lang ja` wrote it
//   TEIJI_COMPARISON       what `teiji compare --html` wrote of two recordings of drawn latencies
//   TEIJI_COMPARISON_JSON  what `teiji compare --json` wrote of them
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { drawn, settled, tested } from './browser.mjs';

const CHARTS = ['histogram', 'latency-over-time', 'exceedance'];
const JAPANESE = /[\u3040-\u30ff\u4e00-\u9fff]/;
const { TEIJI_JAPANESE: report, TEIJI_COMPARISON: comparison, TEIJI_COMPARISON_JSON: differences } = process.env;
assert.ok(report && comparison && differences, 'TEIJI_JAPANESE and TEIJI_COMPARISON name no pages');

/** Every chart is drawn, and nothing was complained of; by how much the page is wider than its window. */
async function whole(page, it) {
  for (const chart of CHARTS) {
    const canvases = await drawn(page, chart);
    assert.ok(canvases.length > 0 && canvases.every((canvas) => canvas.coloured > 100), `${chart} is drawn`);
  }
  assert.deepEqual(it.complaints, []);
  return page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
}

describe('the report in Japanese', () => {
  const it = tested(report);

  test('speaks it in headings, switches, charts and descriptions', async () => {
    const page = await it.open();
    assert.equal(await page.locator('html').getAttribute('lang'), 'ja');
    for (const kind of ['h1', 'h2', '#summary thead th.group', 'dl.words dd', '.lead', '.switch button', '.theme', '.panel-head span', 'nav a']) {
      const texts = await page.locator(kind).allTextContents();
      assert.ok(texts.length > 0, kind);
      for (const text of texts) assert.match(text, kind === '.panel-head span' ? /µs/ : JAPANESE, kind);
    }
    for (const chart of CHARTS) assert.match(await page.locator(`#${chart} .canvas`).getAttribute('aria-label'), JAPANESE);
    await page.locator('.theme').click();
    await settled(page);
    assert.match(await page.locator('.theme').textContent(), JAPANESE);
    assert.ok(await whole(page, it) <= 0, 'nothing sticks out');
    await page.close();
  });

  test('fits a telephone', async () => {
    const page = await it.open({ width: 360 });
    assert.ok(await whole(page, it) <= 0, 'nothing sticks out');
    await page.close();
  });
});

describe('the page of a comparison', () => {
  const it = tested(comparison);

  test('says the verdict, draws each difference, and lists what else differs', async () => {
    const page = await it.open();
    assert.match(await page.locator('h1').textContent(), /^[^:]+: hackbench against idle$/);
    assert.match(await page.locator('p.account').textContent(), /(significant difference|lower|higher|times as high)/);
    const rows = await page.locator('table.differences tbody tr').count();
    const { quantiles, rate, maximum } = JSON.parse(readFileSync(differences)).comparisons[0];
    const intervals = quantiles.filter((one) => one.reason === null).length + (rate ? 1 : 0);
    assert.equal(intervals, 5, 'all but p99.99 are compared, and the rate');
    // Each quantile, the rate, the maximum, and whose the largest are.
    assert.equal(rows, quantiles.length + (rate ? 1 : 0) + 1 + (maximum.largest[0] + maximum.largest[1] > 0 ? 1 : 0));
    // A ratio beyond the axis is an arrow, and the maximum has no interval to draw.
    assert.equal(await page.locator('.forest svg circle, .forest svg path:not([fill=none])').count(), intervals);
    assert.ok(await page.locator('#differs tbody tr').count() > 0, 'their streams differ');
    assert.ok(await whole(page, it) <= 0, 'nothing sticks out');
    await page.close();
  });

  test('keeps what a picture says within it', async () => {
    const page = await it.open();
    const out = await page.locator('.forest svg').evaluateAll((pictures) => pictures.flatMap((picture) => {
      const room = picture.getBoundingClientRect();
      return [...picture.querySelectorAll('text')].filter((text) => text.getBoundingClientRect().right > room.right + 1).map((text) => text.textContent);
    }));
    assert.deepEqual(out, []);
    await page.close();
  });

  test('fits a telephone, in the dark too', async () => {
    const page = await it.open({ width: 360, scheme: 'dark' });
    assert.ok(await whole(page, it) <= 0, 'nothing sticks out');
    const hidden = await page.locator('table.differences td').evaluateAll((cells) => cells.filter((cell) => cell.getBoundingClientRect().right > innerWidth).length);
    assert.equal(hidden, 0, 'each difference is seen without scrolling');
    await page.close();
  });
});
