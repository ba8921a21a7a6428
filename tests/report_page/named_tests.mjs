// Tests of the page by name: those of a file run one at a time. usage: FILE NAME
import assert from "node:assert/strict";
import { openReport, withBrowser } from "./browser.mjs";
import { sampleReport } from "./sample_report.mjs";

const tests = new Map();

/** `check(page, report)`; whatever else the page does, it must do without a fault. */
export function test(name, { report = () => sampleReport(), ...options }, check) {
  tests.set(name, { check, report, options });
}

export async function runChosen() {
  const chosen = tests.get(process.argv[2]);
  assert.ok(chosen, `no test '${process.argv[2]}'`);
  const report = chosen.report();
  await withBrowser(async (browser) => {
    const { page, faults } = await openReport(browser, report, chosen.options);
    await chosen.check(page, report);
    assert.deepEqual(faults, []);
  });
}
