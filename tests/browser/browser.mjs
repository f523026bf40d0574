// SPDX-License-Identifier: MIT OR Apache-2.0
// A page in a real browser, and what can be told of its drawings.
//   CHROMIUM  optional: the browser, unless it is /usr/bin/chromium
import { mkdtempSync, rmSync } from 'node:fs';
import { after, before } from 'node:test';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';

/** For the tests of the page in `file`: `open` opens it freshly, and `complaints` is what that page has complained of. */
export function tested(file) {
  const page = { complaints: [] };
  let running;
  before(async () => { running = await browser(file); });
  after(() => running?.close());
  page.open = (settings) => {
    page.complaints = [];
    return running.open(page.complaints, settings);
  };
  return page;
}

/** A browser for the page in `file`; `close` ends it. */
async function browser(file) {
  const address = pathToFileURL(path.resolve(file)).href;
  const profile = mkdtempSync(path.join(tmpdir(), 'teiji-browser-'));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    chromiumSandbox: false,
    viewport: { width: 1280, height: 900 },
    args: ['--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
  });
  const close = async () => {
    await context.close();
    rmSync(profile, { recursive: true, force: true });
  };
  /** The page, freshly opened; whatever it asks of a network or complains about is put into `complaints`. */
  const open = async (complaints, settings = {}) => {
    const page = await context.newPage();
    page.on('console', (message) => {
      // This test reads the canvases back, which a browser finds slow, and says so.
      if (['error', 'warning'].includes(message.type()) && !message.text().includes('willReadFrequently')) complaints.push(`console: ${message.text()}`);
    });
    page.on('pageerror', (error) => complaints.push(`error: ${error.message}`));
    page.on('request', (request) => {
      const url = request.url();
      if (url !== address && !url.startsWith(`${address}#`) && !url.startsWith('data:')) complaints.push(`request: ${url}`);
    });
    page.on('requestfailed', (request) => complaints.push(`request failed: ${request.url()}`));
    if (settings.width) await page.setViewportSize({ width: settings.width, height: 900 });
    await page.emulateMedia({ colorScheme: settings.scheme ?? 'light', media: settings.media ?? 'screen' });
    await page.addInitScript(noteTexts);
    await page.goto(address);
    await settled(page);
    return page;
  };
  return { open, close };
}

/** Before a page's own scripts: every text that is drawn, and whether an edge of its canvas cuts it. */
function noteTexts() {
  window.drawnTexts = [];
  const { fillText } = CanvasRenderingContext2D.prototype;
  CanvasRenderingContext2D.prototype.fillText = function noted(text, x, y, ...rest) {
    const box = this.measureText(text);
    const corners = [[x - box.actualBoundingBoxLeft, y - box.actualBoundingBoxAscent], [x + box.actualBoundingBoxRight, y + box.actualBoundingBoxDescent]].map(([left, top]) => this.getTransform().transformPoint({ x: left, y: top }));
    // Letters are smoothed by up to a pixel.
    const cut = corners.some((corner) => corner.x < -1 || corner.y < -1 || corner.x > this.canvas.width + 1 || corner.y > this.canvas.height + 1);
    window.drawnTexts.push({ text, cut });
    return fillText.call(this, text, x, y, ...rest);
  };
}

/** Charts are drawn in the next frames. */
export const settled = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 50)))));

/** For each canvas of a chart: how many pixels are drawn, how many have a recording's colour, and a sum that changes with the drawing. */
export const drawn = (page, chart) => page.evaluate((id) => {
  const style = getComputedStyle(document.documentElement);
  const colours = Array.from({ length: 8 }, (_, n) => style.getPropertyValue(`--c${n}`).trim().match(/\w\w/g).map((part) => Number.parseInt(part, 16)));
  return [...document.querySelectorAll(`#${id} .canvas canvas`)].map((canvas) => {
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    let [inked, coloured, sum] = [0, 0, 0];
    for (let i = 0; i < data.length; i += 4) {
      if (data[i + 3] === 0) continue;
      inked += 1;
      sum = (sum * 31 + data[i] * 3 + data[i + 1] * 5 + data[i + 2] * 7 + data[i + 3] + i) % 4294967291;
      const near = ([r, g, b]) => Math.abs(data[i] - r) + Math.abs(data[i + 1] - g) + Math.abs(data[i + 2] - b) < 24;
      if (data[i + 3] > 160 && colours.some(near)) coloured += 1;
    }
    return { inked, coloured, sum };
  });
}, chart);

/** The JSON that the page draws from. */
export const embedded = (page) => page.evaluate(() => JSON.parse(document.getElementById('data').textContent));
