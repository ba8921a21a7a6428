// A page of a report in a headless browser.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

/** Without the sandbox, which root cannot use; the page is our own. The others keep the browser itself from calling home. */
const kArguments = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync"
];

/** Milliseconds for a step, on a machine that is busy with other tests. */
const kPatience = 180_000;

export async function withBrowser(use) {
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: kArguments, timeout: kPatience });
  try {
    return await use(browser);
  } finally {
    await browser.close();
  }
}

/**
 * Opens a page from its file. `faults` grows by whatever goes wrong in it: messages on the console,
 * exceptions, and requests for anything but the file itself.
 */
export async function openPage(browser, html, options = {}) {
  const url = pathToFileURL(html).href;
  const context = await browser.newContext({
    viewport: { width: 1280, height: 900 },
    colorScheme: "light",
    ...options
  });
  context.setDefaultTimeout(kPatience);
  const page = await context.newPage();
  const faults = [];
  page.on("console", (message) => faults.push(`console: ${message.text()}`));
  page.on("pageerror", (error) => faults.push(`exception: ${error.message}`));
  page.on("request", (request) => {
    if (request.url() !== url && !request.url().startsWith("data:")) {
      faults.push(`request: ${request.url()}`);
    }
  });
  await page.goto(url);
  return { page, faults };
}

/** Waits until that holds in the page. A browser that nobody sees may not draw for minutes, but for a screenshot it does. */
export async function waitUntil(page, holds, argument) {
  const end = Date.now() + kPatience;
  while (!(await page.evaluate(holds, argument))) {
    assert.ok(Date.now() < end, `never: ${holds}`);
    await page.screenshot();
  }
}

/** Prints the page, and says how many elements of each selector it had meanwhile. */
export async function countPrinted(page, selectors) {
  await page.evaluate((all) => {
    const count = () => (window.printed = all.map((one) => document.querySelectorAll(one).length));
    addEventListener("beforeprint", count, { once: true });
  }, selectors);
  await page.pdf();
  return await page.evaluate(() => window.printed);
}

/** The page that is made of a report. */
export async function openReport(browser, report, options = {}) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "tare-report-page-"));
  const json = path.join(folder, "report.json");
  const html = path.join(folder, "report.html");
  fs.writeFileSync(json, JSON.stringify(report));
  execFileSync(process.env.WRITE_PAGE, [json, html]);
  try {
    return await openPage(browser, html, options);
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
}
