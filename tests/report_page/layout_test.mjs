// How the page is drawn: the chart, narrow windows and colours. usage: layout_test.mjs NAME
import assert from "node:assert/strict";
import fs from "node:fs";
import { createRequire } from "node:module";
import { waitUntil } from "./browser.mjs";
import { runChosen, test } from "./named_tests.mjs";
import { sampleReport } from "./sample_report.mjs";

const kRows = "#layer-table tbody tr:not(.spacer)";
const many = () => sampleReport({ layers: 2000 });

test("MovesOverTheChartFromTheKeyboard", {}, async (page, report) => {
  const chart = page.getByRole("slider");
  await chart.focus();
  await page.keyboard.press("End");
  assert.equal(await chart.getAttribute("aria-valuenow"), "24");
  await page.keyboard.press("ArrowLeft");
  assert.match(
    await chart.getAttribute("aria-valuetext"),
    new RegExp(`^${report.layers[22].name}, Conv, QLinearConv: local [\\d.]+ dB`)
  );
  assert.match(await page.locator(".readout").textContent(), new RegExp(report.layers[22].name));
  await page.keyboard.press("Enter");
  assert.equal(await page.locator("#layer-title").textContent(), report.layers[22].name);
});

test("NamesTheWorstLayersWhereNoLineCrossesThem", { report: many }, async (page, report) => {
  const names = page.locator(".depth-chart .labels text");
  const worst = report.layers
    .filter((layer) => !layer.local.exact)
    .sort((a, b) => a.local.sqnr - b.local.sqnr)
    .slice(0, 3);
  const ends = (name) => name.slice(-20);
  assert.deepEqual(
    (await names.allTextContents()).map(ends),
    worst.map((layer) => ends(layer.name))
  );
  const boxes = await Promise.all((await names.all()).map((name) => name.boundingBox()));
  const line = await page.locator(".cumulative-line").boundingBox();
  for (const [index, box] of boxes.entries()) {
    assert.ok(box.y + box.height <= line.y + 1, "above the line");
    for (const other of boxes.slice(index + 1)) {
      const apart = box.x + box.width <= other.x || other.x + other.width <= box.x;
      assert.ok(apart || box.y + box.height <= other.y + 4 || other.y + other.height <= box.y + 4);
    }
  }
});

test("DrawsTheTrendOfManyLayers", { report: many }, async (page) => {
  assert.equal(await page.locator(".cumulative-band").count(), 1);
  assert.match(await page.locator(".legend").textContent(), /median and range of 39 neighbouring layers/);
  const heights = (await page.locator(".cumulative-line").getAttribute("d")).match(/(?<= )[\d.]+/g).map(Number);
  assert.equal(heights.length, 2000);
  const turns = heights.filter(
    (height, i) => i > 0 && Math.sign(height - heights[i - 1]) * Math.sign(heights[i + 1] - height) < 0
  );
  // A line through every layer would turn at two of three.
  assert.ok(turns.length < 500, `${turns.length}`);
});

test("DrawsEveryOneOfFewLayers", {}, async (page) => {
  assert.equal(await page.locator(".cumulative-band").count(), 0);
  assert.equal((await page.locator(".cumulative-line").getAttribute("d")).split("L").length, 24);
});

test("FollowsThePointerOverTheChart", {}, async (page, report) => {
  await page.locator(".chart").scrollIntoViewIfNeeded();
  const box = await page.locator(".chart svg").boundingBox();
  await page.mouse.move(box.x + (box.width * (52 + (1052 * 5.5) / 24)) / 1120, box.y + box.height / 2);
  assert.match(await page.locator(".readout").textContent(), new RegExp(report.layers[5].name));
});

const severalOutputs = () => {
  const report = sampleReport();
  report.float_model.bytes = 2970000;
  report.quantized_model.bytes = 806000;
  report.outputs = ["boxes", "scores_of_all_classes/of_every_anchor/Sigmoid_output_0"].map((name) => ({
    ...report.outputs[0],
    name
  }));
  return report;
};
const kPhone = { width: 375, height: 800 };
test("FitsAPhone", { report: severalOutputs, viewport: kPhone }, async (page) => {
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 375);
  for (const figure of await page.locator("#key-figures dd").all()) {
    const [text, width, room] = await figure.evaluate((dd) => [dd.textContent, dd.scrollWidth, dd.clientWidth]);
    assert.ok(width <= room, text);
  }
  assert.equal(await page.locator(".whole", { hasText: /^806 kB$/ }).count(), 1);
});

test("ShowsWhereItScrollsSideways", { report: severalOutputs, viewport: kPhone }, async (page) => {
  for (const part of ["#outputs", "#depth-chart", "#layer-table", "#graph-body"]) {
    const frame = page.locator(`${part} .sideways`);
    await page.locator(`${part} .sideways.more-right:not(.more-left)`).waitFor();
    await frame.locator("> *").evaluate((scroller) => {
      scroller.scrollLeft = scroller.scrollWidth;
    });
    await page.locator(`${part} .sideways.more-left:not(.more-right)`).waitFor();
  }
  await page.setViewportSize({ width: 1280, height: 800 });
  await waitUntil(page, () => document.querySelector(".more-left, .more-right") === null);
});

test("FitsANarrowWindow", { viewport: { width: 400, height: 800 } }, async (page) => {
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 400);
  await page.locator(`${kRows} th button`).first().click();
  assert.ok(
    await page.locator("#layer-dialog").evaluate((dialog) => dialog.scrollWidth <= dialog.clientWidth)
  );
});

// The rules of WCAG 2 as axe-core judges them, contrast of all text among them.
test("IsAccessibleInBothThemes", { report: severalOutputs }, async (page) => {
  const axe = fs.readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
  await page.evaluate(axe);
  const faults = () =>
    page.evaluate(async () =>
      (await globalThis.axe.run()).violations.flatMap((rule) =>
        rule.nodes.map((node) => `${rule.id}: ${node.html.slice(0, 120)} ${node.failureSummary}`)
      )
    );
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    assert.deepEqual(await faults(), []);
    await page.evaluate(() => openLayer(5));
    assert.deepEqual(await faults(), []);
    await page.keyboard.press("Escape");
  }
});

await runChosen();
