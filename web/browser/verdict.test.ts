import { expect, test } from "vitest";
import { accessible, began, compared, eventually, picture, visitor } from "./page";

const visit = visitor();

test("one sentence says where it began, and on what evidence", async () => {
  const { page } = visit;
  await visit.go({ view: "verdict", ...compared });
  const sentence = page.getByRole("heading", { level: 1 });
  await eventually(() => sentence.textContent()).toContain(`in ${began}, in module model.layers.2.mlp.down_proj`);
  expect(await sentence.textContent()).toContain("its parameter weight already differs");
  expect(await page.getByRole("region", { name: "evidence" }).textContent()).toContain("tolerated");
  expect(await page.getByRole("region", { name: "error by layer" }).getByRole("row").count()).toBeGreaterThan(4);
  await accessible(page, "verdict");
  await picture(page, "verdict");
});

test("what is not found is said, and what to do", async () => {
  const { page } = visit;
  await visit.go({ view: "verdict" });
  await page.getByText("Choose two runs first").waitFor();
  await visit.go({ view: "verdict", problem: "no such run", bench: "golden" });
  await page.getByRole("alert").filter({ hasText: "no run is named" }).waitFor();
  visit.expectFaults("404");
});
