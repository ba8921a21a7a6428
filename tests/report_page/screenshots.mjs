// Pictures of a report for the documentation. usage: screenshots.mjs REPORT.json FOLDER [LAYER]
// Needs CHROMIUM and WRITE_PAGE as the tests do. LAYER: which one to open, else the first of the diagnosis.
import fs from "node:fs";
import path from "node:path";
import { openReport, withBrowser } from "./browser.mjs";

const [json, folder, wanted] = process.argv.slice(2);
const report = JSON.parse(fs.readFileSync(json, "utf8"));
await withBrowser(async (browser) => {
  const { page } = await openReport(browser, report, { viewport: { width: 1180, height: 1000 } });
  await page.screenshot({ path: path.join(folder, "report.png") });
  const name = wanted ?? report.diagnosis[0]?.layer ?? report.layers[0].name;
  await page.evaluate(
    (index) => openLayer(index),
    report.layers.findIndex((layer) => layer.name === name)
  );
  await page.locator("#layer-dialog").screenshot({ path: path.join(folder, "report_layer.png") });
});
