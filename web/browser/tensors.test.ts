import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { at, open, picture, type Open } from "./page";

let opened: Open;

beforeAll(async () => {
  opened = await open();
});

afterAll(async () => {
  await opened.close();
});

const compared = { view: "tensors", problem: "dies", bench: "lives" };

describe("raw tensors", () => {
  test("of both sides are heat-maps, with where and how they differ", async () => {
    const { page } = opened;
    await page.goto(at({ ...compared, op: "Module.1.query.Linear.forward.0", role: "parameter", path: "weight", rank: "0", step: "0" }));
    await page.getByText("problem = 1.5 × bench").waitFor();
    await page.getByRole("application", { name: /^difference, 32 × 32 cells/ }).waitFor();
    await picture(page, "tensors");
    await page.getByRole("region", { name: "worst elements" }).getByRole("button").first().click();
    await expect.poll(() => new URL(page.url()).searchParams.get("slice")).toMatch(/^\d+:\d+,\d+:\d+$/);
  });

  test("of more dimensions are sliced, and the slice is in the link", async () => {
    const { page } = opened;
    await page.goto(at({ ...compared, op: "Tensor.unflatten.0.forward", role: "output", rank: "0", step: "0", slice: "1,:,2,:" }));
    await page.getByRole("application", { name: /^dies, 12 × 8 cells/ }).waitFor();
    await page.getByLabel("rows").selectOption("2");
    await expect.poll(() => new URL(page.url()).searchParams.get("slice")).toBe("1,0,0:4,0:8");
    await page.getByRole("application", { name: /^dies, 4 × 8 cells/ }).waitFor();
  });

  test("that were not kept are said to be, with how to keep them", async () => {
    const { page } = opened;
    await page.goto(at({ view: "tensors", problem: "golden", bench: "nightly-42", op: "Functional.linear.20.forward" }));
    await page.getByRole("alert").filter({ hasText: "record them with tensortap run --task tensor" }).waitFor();
    expect(opened.faults.every((f) => f.includes("404"))).toBe(true);
    opened.faults.length = 0;
    await page.goto(at({ view: "tensors", problem: "golden" }));
    await page.getByText("golden kept no raw tensor").waitFor();
  });

  test("said nothing on their console", () => {
    expect(opened.faults).toEqual([]);
  });
});
