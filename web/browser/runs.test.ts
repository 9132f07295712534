import { expect, test } from "vitest";
import { accessible, address, compared, eventually, picture, visitor } from "./page";

const visit = visitor();

test("two runs are chosen from the list, and the address has all that is chosen", async () => {
  const { page } = visit;
  await page.goto(address);
  await page.getByRole("button", { name: "problem: nightly-42" }).click();
  await page.getByRole("button", { name: "bench: golden" }).click();
  await page.getByLabel("group by").selectOption("team");
  await page.getByLabel("search runs").fill("team=vision");
  await eventually(() => page.getByRole("status").filter({ hasText: "of" }).first().textContent()).toMatch(/2 of \d+ runs/);
  await accessible(page, "list of runs");
  const link = page.url();
  await page.goto("about:blank");
  await page.goto(link);
  await page.getByRole("button", { name: "problem: nightly-42", pressed: true }).waitFor();
  await page.getByRole("row").filter({ hasText: "vision" }).nth(1).waitFor();
  await page.getByLabel("search runs").fill("");
  await page.getByLabel("group by").selectOption("");
  await page.getByRole("button", { name: "Compare" }).click();
  await page.getByRole("region", { name: "where to look next" }).waitFor();
});

test("the list says how each run fares", async () => {
  const { page } = visit;
  await visit.go({ view: "runs", find: "team=", ...compared });
  await page.getByRole("button", { name: "problem: nightly-42" }).waitFor();
  await picture(page, "runs");
  expect(await page.getByRole("row").filter({ hasText: "nightly-42" }).textContent()).toContain("golden");
});
