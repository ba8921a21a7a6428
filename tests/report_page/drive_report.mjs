// Uses the page of a report as a reader does, whatever the report holds. usage: drive_report.mjs PAGE.html
import assert from "node:assert/strict";
import { countPrinted, openPage, withBrowser } from "./browser.mjs";

const kRows = "#layer-table tbody tr:not(.spacer)";

async function sortByEveryColumn(page) {
  const sorted = await page.evaluate(
    (rows) =>
      [...document.querySelectorAll("#layer-table thead button")].map((button) => {
        button.click();
        return [button.parentElement.ariaSort, document.querySelectorAll(rows).length > 0];
      }),
    kRows
  );
  assert.ok(sorted.length > 10);
  for (const [order, hasRows] of sorted) {
    assert.match(order, /^(as|des)cending$/);
    assert.ok(hasRows);
  }
}

async function filterByName(page) {
  const name = await page.evaluate(() => report.layers.at(-1).name);
  await page.getByLabel("Name").fill(name);
  assert.ok((await page.locator(`${kRows} th button`).allTextContents()).includes(name));
  await page.getByRole("button", { name: "Reset" }).click();
}

/** The first, the last, and the one that loses most by itself, all that they read included. */
async function openLayers(page) {
  const indexes = await page.evaluate(() => {
    const sqnr = (layer) => layer.local?.sqnr ?? Infinity;
    const worst = report.layers.reduce((a, b) => (sqnr(b) < sqnr(a) ? b : a));
    return [0, report.layers.indexOf(worst), report.layers.length - 1];
  });
  for (const index of indexes) {
    await page.evaluate((at) => openLayer(at), index);
    const dialog = page.locator("#layer-dialog");
    await dialog.evaluate((shown) => shown.querySelectorAll("details").forEach((part) => (part.open = true)));
    await saysNothingOdd(page, "#layer-dialog");
    assert.ok(await dialog.evaluate((shown) => shown.scrollWidth <= shown.clientWidth));
    await page.keyboard.press("Escape");
  }
}

async function saysNothingOdd(page, part) {
  const text = await page.locator(part).evaluate((node) => node.innerText);
  assert.doesNotMatch(text, /undefined|NaN|\bnull\b|Infinity|\[object/);
}

async function switchTheme(page) {
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await ground();
  await page.getByLabel("Dark").evaluate((input) => input.click());
  assert.notEqual(await ground(), light);
}

async function fitsEveryWidth(page) {
  for (const width of [1280, 375]) {
    await page.setViewportSize({ width, height: 800 });
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= width, `${width}`);
    await openLayers(page);
  }
}

async function printsEveryLayer(page) {
  const all = await page.evaluate(() => report.layers.length);
  assert.deepEqual(await countPrinted(page, [kRows]), [all]);
}

await withBrowser(async (browser) => {
  const { page, faults } = await openPage(browser, process.argv[2]);
  await saysNothingOdd(page, "body");
  await sortByEveryColumn(page);
  await filterByName(page);
  await switchTheme(page);
  await fitsEveryWidth(page);
  await printsEveryLayer(page);
  assert.deepEqual(faults, []);
});
