import { createRequire } from "node:module";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { address, at, hostile, open, picture, type Open } from "./page";

let opened: Open;

beforeAll(async () => {
  opened = await open();
});

afterAll(async () => {
  await opened.close();
});

async function accessible(what: string): Promise<void> {
  const axe = createRequire(import.meta.url).resolve("axe-core");
  // The policy lets no script in by an element, so the library comes as the browser's own.
  const { page } = opened;
  const source = (await import("node:fs")).readFileSync(axe, "utf8");
  await page.evaluate(source);
  const found = await page.evaluate(async () => {
    interface Axe {
      run: (options: unknown) => Promise<{ violations: { id: string; impact: string; nodes: { html: string }[] }[] }>;
    }
    const { violations } = await (globalThis as unknown as { axe: Axe }).axe.run({ resultTypes: ["violations"] });
    return violations
      .filter((v) => v.impact === "serious" || v.impact === "critical")
      .map((v) => `${v.id}: ${v.nodes.map((n) => n.html.slice(0, 200)).join(" | ")}`);
  });
  expect(found, what).toEqual([]);
}

const compared = { problem: "nightly-42", bench: "golden" };
const began = "Functional.linear.20.forward";

describe("a person with a diverged run", () => {
  test("chooses two runs from the list, and the address has all that is chosen", async () => {
    const { page } = opened;
    await page.goto(address);
    await page.getByRole("button", { name: "problem: nightly-42" }).click();
    await page.getByRole("button", { name: "bench: golden" }).click();
    await page.getByLabel("group by").selectOption("team");
    await page.getByLabel("search runs").fill("team=vision");
    await expect.poll(() => page.getByRole("status").filter({ hasText: "of" }).first().textContent()).toContain("2 of 6 runs");
    await accessible("list of runs");
    const link = page.url();
    await page.goto("about:blank");
    await page.goto(link);
    await page.getByRole("button", { name: "problem: nightly-42", pressed: true }).waitFor();
    expect(await page.getByRole("row").filter({ hasText: "vision" }).count()).toBeGreaterThan(1);
    await page.getByLabel("search runs").fill("");
    await page.getByLabel("group by").selectOption("");
  });

  test("reads in one sentence where it began, and on what evidence", async () => {
    const { page } = opened;
    await page.getByRole("button", { name: "Compare" }).click();
    const sentence = page.getByRole("heading", { level: 1 });
    await expect.poll(() => sentence.textContent(), { timeout: 240_000 }).toContain(`in ${began}, in module model.layers.2.mlp.down_proj`);
    expect(await sentence.textContent()).toContain("its parameter weight already differs");
    expect(await page.getByRole("region", { name: "evidence" }).textContent()).toContain("tolerated");
    expect(await page.getByRole("region", { name: "error by layer" }).getByRole("row").count()).toBeGreaterThan(4);
    await accessible("verdict");
    await picture(page, "verdict");
  });

  test("finds the op in the diff, and steps through what differs by keys alone", async () => {
    const { page } = opened;
    await page.getByRole("region", { name: "where to look next" }).getByRole("link").first().click();
    const cursor = page.getByRole("row", { selected: true });
    await expect.poll(() => cursor.textContent(), { timeout: 240_000 }).toContain(began);
    const details = page.getByRole("complementary", { name: "op under the cursor" });
    await details.getByRole("region", { name: "input 1" }).waitFor();
    expect(await details.textContent()).toContain("First called at");
    await accessible("diff");
    await picture(page, "diff");
    await page.getByRole("grid").focus();
    await page.keyboard.press("p");
    await page.keyboard.press("n");
    await expect.poll(() => cursor.textContent()).toContain(began);
    await page.keyboard.press("ArrowDown");
    await expect.poll(() => new URL(page.url()).searchParams.get("op")).not.toBe(began);
  });

  test("filters the ops, and the link says how", async () => {
    const { page } = opened;
    await page.goto(at({ view: "diff", ...compared, verdict: "diverged", module: "layers.2", find: "linear" }));
    const list = page.getByRole("grid");
    await list.waitFor();
    const rows = Number(await list.getAttribute("aria-rowcount"));
    expect(rows).toBeGreaterThan(2);
    for (const row of await list.getByRole("row").allTextContents()) expect(row).toContain("diverged");
    await page.goto(at({ view: "diff", problem: "extra-op", bench: "golden", verdict: ["only_problem", "only_bench"] }));
    await page.getByRole("row").filter({ hasText: "only here" }).first().waitFor();
  });

  test("sees where NaN began and how it spread", async () => {
    const { page } = opened;
    await page.goto(at({ view: "overflow", problem: "with-nan" }));
    await page.getByText("NaN or infinity is first seen at step 1, rank 0").waitFor();
    await page.getByRole("img", { name: /tensors that are not finite at step 1/ }).waitFor();
    await accessible("NaN and infinity");
    await picture(page, "overflow");
    await page.goto(at({ view: "overflow", problem: "golden" }));
    await page.getByText("Nothing that golden recorded is NaN or infinite").waitFor();
  });
});

describe("the database", () => {
  test("is asked in SQL, and the answer is drawn", async () => {
    const { page } = opened;
    const query = "SELECT\n    seq,\n    error,\n    tolerance\nFROM tap.divergences\nWHERE verdict = 'diverged'\nORDER BY seq";
    await page.goto(at({ view: "sql", query }));
    await page.getByRole("button", { name: "Chart" }).click();
    await page.getByRole("img", { name: "the answer as a chart" }).waitFor();
    await page.getByText("tap.divergences", { exact: true }).waitFor();
    await accessible("SQL");
    await picture(page, "sql");
  });

  test("is changed by no query", async () => {
    const { page } = opened;
    await page.goto(at({ view: "sql", query: "INSERT INTO tap_store.run (name) VALUES ('planted')" }));
    await page.getByRole("alert").waitFor();
    expect(opened.faults.every((f) => f.includes("400"))).toBe(true);
    opened.faults.length = 0;
  });
});

describe("the page", () => {
  test("says what it does not find, and what to do", async () => {
    const { page } = opened;
    await page.goto(at({ view: "verdict" }));
    await page.getByText("Choose two runs first").waitFor();
    await page.goto(at({ view: "verdict", problem: "no such run", bench: "golden" }));
    await page.getByRole("alert").filter({ hasText: "no run is named" }).waitFor();
    expect(opened.faults.every((f) => f.includes("404"))).toBe(true);
    opened.faults.length = 0;
  });

  test("is worked by keys: views, commands, colours", async () => {
    const { page } = opened;
    await page.goto(at({ view: "runs", ...compared }));
    await page.getByRole("button", { name: "problem: nightly-42" }).waitFor();
    await picture(page, "runs");
    await page.keyboard.press("2");
    await page.getByText("Where to look next").waitFor();
    await page.keyboard.press("Control+k");
    await page.getByPlaceholder("a view, a run, a command").fill("light and dark");
    await page.keyboard.press("Enter");
    await expect.poll(() => page.evaluate(() => document.documentElement.dataset["theme"])).toBe("dark");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await accessible("verdict in the dark");
    await page.goto(at({ view: "diff", ...compared }));
    await page.getByRole("grid").waitFor();
    await accessible("diff in the dark");
    await page.keyboard.press("Control+k");
    await page.getByPlaceholder("a view, a run, a command").fill("with-nan");
    await page.getByRole("dialog").getByRole("option").first().waitFor();
    await accessible("commands");
    await page.keyboard.press("Escape");
    await page.evaluate(() => {
      localStorage.clear();
    });
  });

  test("shows names as text, whatever they are", async () => {
    const { page } = opened;
    for (const view of ["runs", "verdict", "diff", "overflow"]) {
      await page.goto(at({ view, problem: `${hostile}0`, bench: `${hostile}1` }));
      await page.getByText("<script>").first().waitFor();
      if (view !== "runs")
        await expect.poll(() => page.locator("main").textContent(), { timeout: 240_000 }).not.toMatch(/^\s*(Asking|Loading|Comparing)/);
      expect(await page.evaluate(() => document.querySelectorAll("img[src='x']").length)).toBe(0);
      expect(await page.title()).not.toBe("taken");
      expect(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth)).toBe(true);
    }
  });

  test("said nothing on its console", () => {
    expect(opened.faults).toEqual([]);
  });
});
