import { writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { accessible, eventually, picture, visitor } from "./page";

const visit = visitor();

// A program trains meanwhile, which the test of this package has started.
const run = process.env["TENSORTAP_LIVE"] ?? "";
const go = process.env["TENSORTAP_LIVE_GO"] ?? ""; // once this file is there, the program makes a NaN

test("a live run is found, and what its ranks do is told as they do it", async () => {
  const { page } = visit;
  await visit.go({ view: "live" });
  await page.getByRole("link", { name: run, exact: true }).click();
  const step = async () => Number(/at step (\d+)/.exec((await page.getByText(`${run}: 1 rank running`).textContent()) ?? "")?.[1]);
  const before = await step();
  await eventually(step).toBeGreaterThan(before);
  await accessible(page, "live");
});

test("ranks are asked to record more, where they are, and to stop", async () => {
  const { page } = visit;
  await visit.go({ view: "live", problem: run });
  const asked = page.getByRole("region", { name: "what to ask of the ranks" });
  const answered = async (deed: string) => {
    await asked.getByRole("button", { name: deed, exact: true }).click();
    await eventually(() => asked.getByRole("status").textContent()).toBe(`${deed}: the one rank does as asked`);
  };
  await answered("poke");
  await page.getByRole("region", { name: "ranks", exact: true }).waitFor();
  await picture(page, "live", ["main p", "main table", "main li"]);
  await asked.getByText("stacks of its threads").click();
  await eventually(() => asked.locator("pre").textContent()).toContain("goes_wrong.py");
  await answered("capture");
  await answered("stop");
  await answered("resume");
});

test("a run that ended or died is asked for nothing, and its end is told", async () => {
  const { page } = visit;
  const asked = page.getByRole("region", { name: "what to ask of the ranks" });
  await visit.go({ view: "live", problem: "recorded" });
  await page.getByText("Every rank ended in order. It was last heard of at").waitFor();
  await page.getByText("last at work on").waitFor();
  expect(await asked.count()).toBe(0);
  await visit.go({ view: "live", problem: "dies" });
  await page.getByText(/Every rank died\.|ranks? died\./).waitFor();
  expect(await asked.count()).toBe(0);
  await page.getByRole("link", { name: "Why it ended" }).click();
  await page.getByRole("button", { name: "Crash", pressed: true }).waitFor();
});

test("the first NaN is told above whatever is shown, without reload", async () => {
  const { page } = visit;
  await visit.go({ view: "runs", problem: run });
  await page.getByRole("button", { name: `problem: ${run}` }).waitFor();
  await page.evaluate(() => {
    (window as unknown as { stays: boolean }).stays = true;
  });
  const news = page.getByRole("log", { name: "news of the chosen runs" });
  expect(await news.textContent()).not.toContain("NaN");
  writeFileSync(go, "");
  await eventually(() => news.textContent()).toMatch(/has NaN or infinity since step \d+, rank 0, op Module\.rare\.Rare\.forward/);
  expect(await page.evaluate(() => (window as unknown as { stays?: boolean }).stays)).toBe(true);
  await accessible(page, "news");
  await news.getByRole("link", { name: "Look" }).click();
  await page.getByText(/NaN or infinity (began|is first seen) at step/).waitFor();
  await news.getByRole("button", { name: "put this away" }).click();
  await eventually(() => news.textContent()).not.toContain("NaN");
});
