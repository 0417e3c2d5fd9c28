// A headless Chromium that keeps account of everything that a page must never do.
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {chromium} from 'playwright-core';

/** How long to wait for expected events: generous, as machines are shared. */
export const kPatience = 30000;

export async function startBrowser() {
  const executablePath = execFileSync('sh', ['-c', 'command -v "${CHROMIUM:-chromium}"'], {encoding: 'utf8'}).trim();
  // Chromium's own sandbox does not work for root, which tests are in a container.
  const args = process.getuid() === 0 ? ['--no-sandbox'] : [];
  const browser = await chromium.launch({executablePath, args});
  return {
    /**
       A page at `url`. `faults` collects errors, broken rules of the content policy, and requests to other hosts than
       the page's. With `clock` its timers run by page.clock only.
     */
    async open(url, {width = 1280, height = 900, dark = false, quiet = false, clock = false, password = null} = {}) {
      const context = await browser.newContext({
        viewport: {width, height},
        colorScheme: dark ? 'dark' : 'light',
        // A tracker's certificate is signed by a CA of its own.
        ignoreHTTPSErrors: true,
        httpCredentials: password === null ? undefined : {username: 'anyone', password}
      });
      context.setDefaultTimeout(kPatience);
      const page = await context.newPage();
      const faults = [];
      page.on('pageerror', (error) => faults.push(`uncaught: ${error.message}`));
      page.on('console', (message) => {
        // Messages that the browser itself logs when a tracker does not answer are no fault of the page.
        if (quiet && /Failed to load resource|ERR_CONNECTION_REFUSED/.test(message.text())) return;
        if (['error', 'warning'].includes(message.type())) faults.push(`console: ${message.text()}`);
      });
      page.on('request', (request) => {
        if (new URL(request.url()).origin !== new URL(url).origin && !request.url().startsWith('data:'))
          faults.push(`a request to ${request.url()}`);
      });
      if (clock) await page.clock.install();
      await page.goto(url);
      return {page, faults, close: () => context.close()};
    },
    close: () => browser.close(),
  };
}

export const live = (page) => page.locator('#link[data-state=live]').waitFor();

/** Waits until the page's own `condition` holds. */
export const until = (page, condition, argument) => page.waitForFunction(condition, argument, {timeout: kPatience});

/** Waits until `condition()` holds here, in the test: for counts of the fake tracker. */
export async function eventually(condition, what) {
  for (const end = Date.now() + kPatience; !condition();) {
    assert.ok(Date.now() < end, what);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

export function assertClean(opened) { assert.deepEqual(opened.faults, []); }

/** By how many pixels the page is wider than its window. */
export const overflow = (page) => page.evaluate(
    () => Math.max(document.documentElement.scrollWidth, document.body.scrollWidth) -
        document.documentElement.clientWidth);

/** Every visible text whose contrast with its background is less than 4.5, as `text: ratio`. */
export const faintTexts = (page) => page.evaluate(() => {
  const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  const known = new Map();
  const parse = (colour) => known.get(colour) ?? known.set(colour, read(colour)).get(colour);
  const read = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
  const ground = (element) => {
    const layers = [];
    for (let e = element; e; e = e.parentElement) layers.push(parse(getComputedStyle(e).backgroundColor));
    return layers.reduceRight((below, layer) => over(layer, below), [255, 255, 255, 1]);
  };
  const luminance = (c) => {
    const [r, g, b] = c.map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const faint = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || !element.checkVisibility() || element.closest('.hidden, noscript, button:disabled'))
      continue;
    const below = ground(element), style = getComputedStyle(element);
    const [a, b] = [
      luminance(over(parse(element instanceof SVGElement ? style.fill : style.color), below)), luminance(below)
    ].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5)
      faint.push(
          `${node.data.trim().slice(0, 40)} (${element.className.baseVal ?? element.className}): ${ratio.toFixed(2)}`);
  }
  return [...new Set(faint)];
});
