// What the page says and does, in a browser. usage: page_test.mjs NAME
import assert from "node:assert/strict";
import { countPrinted } from "./browser.mjs";
import { runChosen, test } from "./named_tests.mjs";
import { bareReport, sampleReport } from "./sample_report.mjs";

const kRows = "#layer-table tbody tr:not(.spacer)";
const namesInTable = (page) => page.locator(`${kRows} th button`).allTextContents();
const many = () => sampleReport({ layers: 2000 });

test("SaysTheVerdictAndItsNumbers", {}, async (page, report) => {
  assert.equal(await page.locator("#verdict-text").textContent(), report.verdict.text);
  const figures = await page.locator("#key-figures").textContent();
  for (const text of [
    `${report.output.sqnr.toFixed(1)} dB`,
    "97.4 %",
    "117 of 120 samples",
    "95.1\u00a0–\u00a098.5\u00a0%",
    "91.70 → 91.20 %",
    "0.50 points lost",
    "1.08 MB → 301 kB",
    "22 of 24"
  ]) {
    assert.ok(figures.includes(text), `${text} in ${figures}`);
  }
});

test("AsksForNothingAndSaysNothing", {}, async (page) => {
  assert.equal(await page.locator("h1").textContent(), "resnet.onnx → resnet.int8.onnx");
  const policy = await page.locator("meta[http-equiv='Content-Security-Policy']").getAttribute("content");
  assert.match(policy, /^default-src 'none';/);
  assert.doesNotMatch(policy, /unsafe|http|self/);
});

test("LeavesOutWhatIsNotKnown", { report: bareReport }, async (page) => {
  for (const section of ["samples", "graph"]) {
    assert.ok(!(await page.locator(`#${section}`).isVisible()), section);
  }
  await page.locator(`${kRows} th button`).first().click();
  for (const part of ["body", "#layer-dialog"]) {
    assert.doesNotMatch(
      await page.locator(part).evaluate((node) => node.innerText),
      /undefined|NaN|null|Infinity/
    );
  }
  assert.doesNotMatch(await page.locator("#key-figures").textContent(), /Accuracy|Same top class/);
});

test("SortsByAnyColumn", {}, async (page, report) => {
  const sqnr = (layer) => (layer.local.exact ? Infinity : layer.local.sqnr);
  const byLocal = [...report.layers]
    .sort((a, b) => (sqnr(a) === sqnr(b) ? 0 : sqnr(a) - sqnr(b)))
    .map((layer) => layer.name);
  const header = page.locator("#layer-table th", { hasText: "Local" });
  await header.locator("button").click();
  assert.equal(await header.getAttribute("aria-sort"), "ascending");
  assert.deepEqual(await namesInTable(page), byLocal.slice(0, (await namesInTable(page)).length));
  await header.locator("button").click();
  assert.equal(await header.getAttribute("aria-sort"), "descending");
  assert.match(await page.locator(kRows).first().textContent(), /exact/);

  for (const button of await page.locator("#layer-table thead button").all()) {
    await button.click();
    assert.equal(await page.locator("#layer-table th[aria-sort=ascending]").count(), 1);
  }
});

test("SortsWhatIsNotKnownLast", {}, async (page, report) => {
  const known = report.layers.filter((layer) => layer.weight).length;
  for (let clicks = 0; clicks < 2; ++clicks) {
    await page.locator("#layer-table th", { hasText: "Weights" }).locator("button").click();
    const cells = await page.locator(`${kRows} td:nth-child(10)`).allTextContents();
    assert.ok(
      cells.slice(0, known).every((text) => text.endsWith("dB")),
      cells.join()
    );
    assert.ok(
      cells.slice(known).every((text) => text === "–"),
      cells.join()
    );
  }
});

test("FiltersLayersAndSaysHowManyAreLeft", {}, async (page, report) => {
  const status = page.locator("#layer-table [role=status]");
  const expect = async (keep) => {
    const kept = report.layers.filter(keep).map((layer) => layer.name);
    assert.deepEqual(await namesInTable(page), kept);
    assert.equal(await status.textContent(), `${kept.length} of 24 layers`);
  };
  await page.getByLabel("Name").fill("BLOCK2");
  await expect((layer) => layer.name.includes("block2"));
  await page.getByRole("combobox", { name: "Operator" }).selectOption("Add");
  await expect((layer) => layer.name.includes("block2") && layer.op === "Add");
  await page.getByRole("button", { name: "Reset" }).click();
  // A reset form tells of it before its fields have changed, so the page looks at them later.
  await page.locator("#layer-table [role=status]", { hasText: /^24 layers$/ }).waitFor();
  await page.getByLabel("Show").selectOption("in float");
  await expect((layer) => layer.runs_as === null);
  await page.getByLabel("Show").selectOption("with a diagnosis");
  await expect((layer) => report.diagnosis.some((finding) => finding.layer === layer.name));
  await page.getByLabel("Show").selectOption("all");
  await page.getByLabel("Local SQNR below").fill("40");
  await expect((layer) => !layer.local.exact && layer.local.sqnr < 40);
});

test("OpensALayerFromTheKeyboard", {}, async (page, report) => {
  await page.locator(`${kRows} th button`).first().focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  const title = page.locator("#layer-title");
  assert.equal(await title.textContent(), report.layers[2].name);
  await page.keyboard.press("ArrowRight");
  assert.equal(await title.textContent(), report.layers[3].name);
  await page.keyboard.press("Escape");
  assert.ok(!(await page.locator("#layer-dialog").isVisible()));
  assert.equal(await page.evaluate(() => document.activeElement.textContent), report.layers[2].name);
});

test("ReachesTheLastOfManyRowsFromTheKeyboard", { report: many }, async (page, report) => {
  for (const body of ["#layer-table", "#graph-body"]) {
    await page.locator(`${body} tbody button`).first().focus();
    await page.keyboard.press("End");
    assert.equal(await page.evaluate(() => document.activeElement.textContent), report.layers.at(-1).name);
    await page.keyboard.press("PageUp");
    await page.keyboard.press("Home");
    assert.equal(await page.evaluate(() => document.activeElement.textContent), report.layers[0].name);
  }
});

test("ShowsWhatIsKnownOfALayer", {}, async (page, report) => {
  const layer = report.layers[5];
  await page.locator(".finding", { hasText: "stretch" }).getByRole("button", { name: layer.name }).click();
  const dialog = page.locator("#layer-dialog");
  const text = await dialog.innerText();
  for (const part of [
    layer.name,
    "QLinearConv",
    "17.4 dB",
    "mse",
    "percentile",
    "3.1 % below, 0.02 % above",
    "one scale per channel",
    "16 bits",
    report.diagnosis[0].text,
    layer.inputs[0]
  ]) {
    assert.ok(text.includes(part), `${part} in ${text}`);
  }
  assert.match(
    await dialog.locator(".histogram").first().getAttribute("aria-label"),
    /calibrated range 0\s…\s[\d.]+, 3\.1 % outside/
  );
  assert.notEqual(await dialog.locator(".bars.clipped").first().getAttribute("d"), "");
  assert.equal(await dialog.locator(".histogram").first().locator("path.range").count(), 4);
  assert.equal(
    (await dialog.locator(".channel-bars").getAttribute("d")).split("M").length - 1,
    layer.weight.channels.length
  );
});

test("DrawsEveryValueOfTheGraph", {}, async (page, report) => {
  const rows = page.locator("#graph-body tbody tr:not(.spacer)");
  assert.match(
    await page.locator("#graph-body .filters").textContent(),
    /24 operators, 22 on integers, 2 in float; 4 regions/
  );
  for (const [index, node] of report.graph.nodes.entries()) {
    const row = rows.nth(index);
    assert.equal(await row.locator(".lanes path").count(), node.inputs.length, node.name);
    assert.equal(await row.locator(node.integer ? "rect.node" : "circle.node").count(), 1, node.name);
    assert.ok(node.integer || /float/.test(await row.textContent()), node.name);
  }
  await page.getByRole("button", { name: "Next region" }).click();
  assert.match(await page.locator("#announcer").textContent(), /^1 operator in float from .*sigmoid/);
});

const kSlyNames = [
  "</script><script>window.fooled = 1</script>",
  "<img src=x onerror='window.fooled = 1'>",
  "a \"quoted\" 'name' & \\more",
  "line\u2028and paragraph\u2029",
  "<!-- <script>",
  "{{constructor}} ${1} &lt;"
];
let renamed = 0;
const slyReport = () => sampleReport({ rename: (name) => `${name} ${kSlyNames[renamed++ % 6]}` });
const spelledOut = (name) => name.replace(/[\u2028\u2029]/g, (c) => `\\u${c.charCodeAt(0).toString(16)}`);
test("TakesNamesForText", { report: slyReport }, async (page, report) => {
  assert.ok(kSlyNames.every((sly) => report.layers.slice(0, 6).some((layer) => layer.name.endsWith(sly))));
  assert.deepEqual(
    (await namesInTable(page)).slice(0, 6),
    report.layers.slice(0, 6).map((layer) => spelledOut(layer.name))
  );
  for (let index = 0; index < 6; ++index) {
    await page.locator(`${kRows} th button`).nth(index).click();
    assert.equal(await page.locator("#layer-title").textContent(), spelledOut(report.layers[index].name));
    await page.keyboard.press("Escape");
  }
  assert.equal(await page.evaluate(() => window.fooled), undefined);
});

test("SwitchesTheme", {}, async (page) => {
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await ground();
  await page.getByLabel("Dark").check({ force: true });
  const dark = await ground();
  assert.notEqual(dark, light);
  await page.getByLabel("Auto").check({ force: true });
  assert.equal(await ground(), light);
  await page.emulateMedia({ colorScheme: "dark" });
  assert.equal(await ground(), dark);
  await page.getByLabel("Light").check({ force: true });
  assert.equal(await ground(), light);
});

test("HoldsOnlyTheRowsInSight", { report: many }, async (page) => {
  // A screen shows about 25 rows of either table, and the margins hold 16.
  assert.ok((await page.locator(kRows).count()) < 60);
  assert.ok((await page.locator("#graph-body tbody tr").count()) < 60);
  assert.ok((await page.evaluate(() => document.querySelectorAll("*").length)) < 6000);
  assert.equal(await page.locator("#layer-table table").getAttribute("aria-rowcount"), "2001");
  await page.locator("#layer-table .scroller").evaluate((scroller) => {
    scroller.scrollTop = scroller.scrollHeight;
  });
  await page.locator("#layer-table tr[aria-rowindex='2001']").waitFor();
  assert.ok((await page.locator(kRows).count()) < 60);
  await page.getByLabel("Name").fill("sigmoid");
  assert.equal(await page.locator("#layer-table [role=status]").textContent(), "153 of 2,000 layers");
  assert.ok((await page.locator(kRows).count()) < 60);
});

test("PrintsAllRows", { report: many }, async (page) => {
  const tables = [kRows, "#graph-body tbody tr:not(.spacer)"];
  assert.deepEqual(await countPrinted(page, tables), [2000, 2000]);
  for (const rows of tables) {
    assert.ok((await page.locator(rows).count()) < 60);
  }
});

test("PrintsOnWhiteAndLeavesControlsOut", {}, async (page) => {
  await page.emulateMedia({ media: "print", colorScheme: "dark" });
  assert.equal(
    await page.evaluate(() => getComputedStyle(document.body).backgroundColor),
    "rgb(255, 255, 255)"
  );
  for (const hidden of [".contents", "#theme", "#layer-table form label", ".copy"]) {
    assert.ok(!(await page.locator(hidden).first().isVisible()), hidden);
  }
  assert.ok(await page.locator("#verdict-text").isVisible());
});

test("PrintsAnOpenLayerAlone", {}, async (page) => {
  await page.locator(`${kRows} th button`).first().click();
  await page.emulateMedia({ media: "print" });
  assert.ok(await page.locator("#layer-title").isVisible());
  assert.ok(!(await page.locator("main").isVisible()));
  const [top, height, clipped] = await page
    .locator("#layer-dialog")
    .evaluate((dialog) => [
      dialog.getBoundingClientRect().top + scrollY,
      dialog.clientHeight,
      dialog.scrollHeight - dialog.clientHeight
    ]);
  assert.deepEqual([top, clipped], [0, 0]);
  assert.ok(height > 900, `${height}`);
});

test("TellsOfTheSameFaultInSeveralLayersOnce", {}, async (page, report) => {
  const alike = report.diagnosis.filter((finding) => finding.kind === "weight_range");
  const card = page.locator(".finding", { hasText: "Channels of the weights differ widely" });
  assert.equal(await card.count(), 1);
  assert.equal(await page.locator(".finding").count(), report.diagnosis.length - alike.length + 1);
  assert.deepEqual((await card.locator("code").textContent()).split("\n"), [
    "layers:",
    ...alike.map((finding) => finding.yaml.split("\n")[1])
  ]);
  await card.getByText("2 more").click();
  await card.getByRole("button", { name: alike[4].layer }).click();
  assert.equal(await page.locator("#layer-title").textContent(), alike[4].layer);
});

const longAdvice = () => {
  const report = sampleReport();
  const rules = report.layers.map((layer) => `  - {match: {name: "${layer.name}"}, keep_float: true}\n`);
  const overlapping = [rules.slice(0, 15), rules.slice(10)];
  report.diagnosis = overlapping.map((some) => ({
    ...report.diagnosis[0],
    yaml: `layers:\n${some.join("")}`
  }));
  return report;
};
test("SaysHowManyLinesThereAreToPasteAndEachOnce", { report: longAdvice }, async (page) => {
  const block = page.locator(".finding .yaml");
  assert.equal((await block.locator("code").textContent()).split("\n").length, 25);
  const height = () => block.locator("pre").evaluate((pre) => [pre.clientHeight, pre.scrollHeight]);
  const [clipped, whole] = await height();
  assert.ok(clipped < whole);
  await block.getByRole("button", { name: "Show all 25 lines" }).click();
  assert.deepEqual(await height(), [whole, whole]);
  assert.equal(await block.getByRole("button").count(), 1);
});

test("CopiesTheLinesToPaste", {}, async (page, report) => {
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.locator(".finding .copy").first().click();
  await page.locator(".finding .copy", { hasText: "Copied" }).waitFor();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), report.diagnosis[0].yaml.trimEnd());
});

test("MarksTheLinesWhereTheClipboardIsOutOfReach", {}, async (page, report) => {
  await page.evaluate(() => {
    navigator.clipboard.writeText = () => Promise.reject(new Error("denied"));
  });
  await page.locator(".finding .copy").first().click();
  assert.equal(
    await page.evaluate(() => getSelection().toString().trimEnd()),
    report.diagnosis[0].yaml.trimEnd()
  );
});

const calibrated = () => {
  const report = sampleReport();
  report.data.evaluated_on = "calibration";
  return report;
};
test("SaysThatSamplesWereCalibratedOn", { report: calibrated }, async (page) => {
  assert.match(await page.locator("#verdict .caution").textContent(), /calibrated on.*--eval FILE/);
  assert.match(await page.locator("#circumstances").textContent(), /120 calibration samples/);
  assert.match(await page.locator("#key-figures").textContent(), /no change|lost.*on calibration samples/);
});

test("SaysNothingOfCalibrationOnOtherSamples", {}, async (page) => {
  assert.equal(await page.locator("#verdict .caution").count(), 0);
});

await runChosen();
