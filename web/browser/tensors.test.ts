import { test } from "vitest";
import { accessible, eventually, picture, visitor } from "./page";

const visit = visitor();

const compared = { view: "tensors", problem: "dies", bench: "lives" };

test("raw tensors of both sides are heat-maps, with where and how they differ", async () => {
  const { page } = visit;
  await visit.go({ ...compared, op: "Module.1.query.Linear.forward.0", role: "parameter", path: "weight", rank: "0", step: "0" });
  await page.getByText("problem = 1.5 × bench").waitFor();
  await page.getByRole("application", { name: /^difference, 32 × 32 cells/ }).waitFor();
  await accessible(page, "tensors");
  await picture(page, "tensors");
  await page.getByRole("region", { name: "worst elements" }).getByRole("button").first().click();
  await eventually(() => new URL(page.url()).searchParams.get("slice")).toMatch(/^\d+:\d+,\d+:\d+$/);
});

test("raw tensors of more dimensions are sliced, and the slice is in the link", async () => {
  const { page } = visit;
  await visit.go({ ...compared, op: "Tensor.unflatten.0.forward", role: "output", rank: "0", step: "0", slice: "1,:,2,:" });
  await page.getByRole("application", { name: /^dies, 12 × 8 cells/ }).waitFor();
  await page.getByLabel("rows").selectOption("2");
  await eventually(() => new URL(page.url()).searchParams.get("slice")).toBe("1,0,0:4,0:8");
  await page.getByRole("application", { name: /^dies, 4 × 8 cells/ }).waitFor();
});

test("raw tensors that were not kept are said to be, with how to keep them", async () => {
  const { page } = visit;
  await visit.go({ view: "tensors", problem: "golden", bench: "nightly-42", op: "Functional.linear.20.forward" });
  await page.getByRole("alert").filter({ hasText: "record them with tensortap run --task tensor" }).waitFor();
  visit.expectFaults("404");
  await visit.go({ view: "tensors", problem: "golden" });
  await page.getByText("golden kept no raw tensor").waitFor();
});
