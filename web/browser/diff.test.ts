import { expect, test } from "vitest";
import { accessible, began, compared, eventually, picture, visitor } from "./page";

const visit = visitor();

test("the op is found from the verdict, and keys alone step through what differs", async () => {
  const { page } = visit;
  await visit.go({ view: "verdict", ...compared });
  await page.getByRole("region", { name: "where to look next" }).getByRole("link").first().click();
  const cursor = page.getByRole("row", { selected: true });
  await eventually(() => cursor.textContent()).toContain(began);
  const details = page.getByRole("complementary", { name: "op under the cursor" });
  await details.getByRole("region", { name: "input 1" }).waitFor();
  expect(await details.textContent()).toContain("First called at");
  await eventually(() => page.getByLabel("step and rank").textContent()).toContain("differences"); // which come by themselves
  await accessible(page, "diff");
  await picture(page, "diff");
  await page.getByRole("grid").focus();
  await page.keyboard.press("p");
  await page.keyboard.press("n");
  await eventually(() => cursor.textContent()).toContain(began);
  await page.keyboard.press("ArrowDown");
  await eventually(() => new URL(page.url()).searchParams.get("op")).not.toBe(began);
});

test.each(["diff", "structure"] as const)("a step that one run has alone is named so in %s, and is no dead end", async (view) => {
  const { page } = visit;
  await visit.go({ view, ...compared, step: "0", rank: "0" });
  const steps = page.getByLabel("step and rank");
  await steps.locator("option").filter({ hasText: "step 1, rank 0: in one run only" }).waitFor({ state: "attached" });
  await steps.selectOption("1 0");
  await page.getByText("The order of the ops is not known").waitFor();
  await page.getByRole("button", { name: "Show another step" }).click();
  await eventually(() => steps.inputValue()).toBe("0 0");
});

test("ops are filtered, and the link says how", async () => {
  const { page } = visit;
  await visit.go({ view: "diff", ...compared, verdict: "diverged", module: "layers.2", find: "linear" });
  const list = page.getByRole("grid");
  await list.waitFor();
  const rows = Number(await list.getAttribute("aria-rowcount"));
  expect(rows).toBeGreaterThan(2);
  for (const row of await list.getByRole("row").allTextContents()) expect(row).toContain("diverged");
  await visit.go({ view: "diff", problem: "extra-op", bench: "golden", verdict: ["only_problem", "only_bench"] });
  await page.getByRole("row").filter({ hasText: "only here" }).first().waitFor();
});
