// Pictures of a report for the documentation. usage: screenshots.mjs REPORT.json FOLDER [LAYER]
// Needs CHROMIUM and WRITE_PAGE as the tests do. LAYER: which one to open, else the first of the diagnosis.
import fs from "node:fs";
import path from "node:path";
import { openReport, withBrowser } from "./browser.mjs";

const [json, folder, wanted] = process.argv.slice(2);
const report = JSON.parse(fs.readFileSync(json, "utf8"));
await withBrowser(async (browser) => {
  const { page } = await openReport(browser, report, { viewport: { width: 1200, height: 1000 } });
  const chart = await page.locator("#depth").boundingBox();
  const clip = { x: 0, y: 0, width: 1200, height: chart.y + chart.height + 24 };
  await page.screenshot({ path: path.join(folder, "report.png"), clip, fullPage: true });
  const name = wanted ?? report.diagnosis[0]?.layer ?? report.layers[0].name;
  await page.setViewportSize({ width: 1200, height: 1700 });
  await page.evaluate(
    (index) => openLayer(index),
    report.layers.findIndex((layer) => layer.name === name)
  );
  await page.locator("#layer-dialog").screenshot({ path: path.join(folder, "report_layer.png") });
});
