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
  await visit.go({ view: "verdict", problem: "nightly-24", bench: compared.bench });
  const alert = page.getByRole("alert").filter({ hasText: "No run is named nightly-24" });
  await alert.getByRole("link", { name: compared.problem, exact: true }).click();
  await page.getByRole("heading", { level: 1 }).waitFor();
  expect(new URL(page.url()).searchParams.get("problem")).toBe(compared.problem);
  await page.goBack();
  await alert.getByRole("link", { name: "All runs" }).click();
  await page.getByRole("button", { name: `bench: ${compared.bench}`, pressed: true }).waitFor();
  visit.expectFaults("404");
});

test("without runs it asks for the list of runs alone, and offers those that were compared", async () => {
  const { page } = visit;
  const asked: string[] = [];
  page.on("request", (r) => asked.push(new URL(r.url()).pathname));
  await visit.go({ view: "verdict" });
  await page.getByText("Choose two runs first").waitFor();
  const offer = page.getByRole("list", { name: "latest runs" }).getByRole("link", { name: `${compared.problem} with ${compared.bench}` });
  await offer.waitFor();
  expect(new Set(asked.filter((path) => path.includes("/api/")))).toEqual(new Set(["/api/v1/live", "/api/v1/reports/overview"]));
  await offer.click();
  await page.getByRole("heading", { level: 1 }).waitFor();
});
