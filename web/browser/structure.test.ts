import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { accessible, began, compared, eventually, picture, visitor } from "./page";

const visit = visitor();
const selected = () => visit.page.getByRole("row", { selected: true });
const chosen = () => new URL(visit.page.url()).searchParams.get("op");

test("the tree is open at the first op that differs, which stands in its module", async () => {
  const { page } = visit;
  await visit.go({ view: "structure", ...compared });
  await eventually(() => selected().textContent()).toContain(began.slice("Functional.".length));
  const details = page.getByRole("complementary", { name: "op under the cursor" });
  await details.getByRole("region", { name: "input 1" }).waitFor();
  await page.getByRole("button", { name: "close model.layers.2.mlp.down_proj", exact: true }).waitFor();
  await accessible(page, "structure");
});

test("keys open and close modules, and go to the next that differs", async () => {
  const { page } = visit;
  await visit.go({ view: "structure", ...compared });
  await eventually(() => selected().textContent()).toContain(began.slice("Functional.".length));
  await page.getByRole("grid").focus();
  await page.keyboard.press("ArrowLeft");
  await eventually(() => selected().textContent()).toContain("down_proj");
  await page.keyboard.press("ArrowLeft");
  await page.getByRole("button", { name: "open model.layers.2.mlp.down_proj", exact: true }).waitFor();
  await page.keyboard.press("n");
  await eventually(chosen).toContain("Module.model.layers.2.mlp.down_proj");
});

test("layers that repeat are one row, whose strip goes to a layer", async () => {
  await visit.go({ view: "structure", ...compared, op: "model.layers" });
  await eventually(() => selected().textContent()).toContain("layers.0 … 3");
  const strip = selected().getByRole("img", { name: "layers: 0 diverged, 1 diverged, 2 diverged, 3 diverged" });
  await strip.click({ position: { x: 2, y: 10 } });
  await eventually(chosen).toBe("model.layers.0");
});

test("a module has a graph of what hands a tensor to what, of one phase", async () => {
  const { page } = visit;
  await visit.go({ view: "structure", ...compared, op: "model.layers.2" });
  await page.getByRole("button", { name: "Graph of data flow" }).click();
  const graph = page.getByRole("region", { name: "graph of data flow" });
  const boxes = graph.locator(".svelte-flow__node");
  await eventually(() => boxes.allTextContents()).toHaveLength(8);
  expect((await boxes.allTextContents()).join()).toMatch(/input_layernorm.*self_attn.*mlp.*comes in.*goes out/);
  await accessible(page, "graph of a module");
  await picture(page, "structure");
  await boxes.filter({ hasText: "mlp" }).last().click();
  await eventually(chosen).toBe("model.layers.2.mlp");
  await boxes.filter({ hasText: "mlp" }).last().click();
  await boxes.filter({ hasText: "gate_proj" }).waitFor();
  expect(new URL(page.url()).searchParams.get("graph")).toBe("model.layers.2.mlp");
  await graph.getByRole("button", { name: "backward" }).click();
  await boxes.filter({ hasText: "__mul__.28.backward" }).waitFor();
});

test("what one run alone has is found by its verdict", async () => {
  const { page } = visit;
  await visit.go({ view: "structure", problem: "extra-op", bench: "golden", verdict: ["only_problem", "only_bench"] });
  await page.getByRole("row").filter({ hasText: "silu.1.forward" }).waitFor();
  expect(await page.getByRole("row").filter({ hasText: "only here" }).count()).toBeGreaterThan(0);
});

test("two nodes are paired by hand, in every layer, and the link keeps the line", async () => {
  const { page } = visit;
  await visit.go({ view: "structure", ...compared, op: "model.layers.1.mlp" });
  await eventually(() => selected().textContent()).toContain("mlp");
  await page.getByRole("button", { name: "Pair by hand…" }).click();
  await page.getByRole("row").filter({ hasText: "self_attn" }).first().click();
  await page.getByRole("button", { name: "in every layer" }).click();
  await page.getByText("model.layers.<n>.mlp: model.layers.<n>.self_attn").waitFor();
  const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Download pairs.yaml" }).click()]);
  expect(await text(await file.createReadStream())).toBe("modules:\n  model.layers.<n>.mlp: model.layers.<n>.self_attn\n");
  await page.reload();
  await page.getByText("model.layers.<n>.mlp: model.layers.<n>.self_attn").waitFor();
});

test("a run alone has its tree, with levels of overflow", async () => {
  const { page } = visit;
  await visit.go({ view: "structure", problem: "with-nan", step: "1", level: "critical" });
  await page.getByRole("img", { name: "overflow level critical" }).first().waitFor();
  await eventually(() => page.getByRole("row").allTextContents()).toContainEqual(expect.stringContaining("forward.0 of LlamaMLP"));
  expect(await page.getByRole("row").filter({ hasText: "rsqrt" }).count()).toBe(0);
});

test("a run alone opens where NaN begins, and says which step that is", async () => {
  const { page } = visit;
  await visit.go({ view: "structure", problem: "with-nan" });
  await page.getByText("Step 1 of rank 0 is shown, where NaN or infinity is first seen.").waitFor();
  await eventually(() => selected().textContent()).toContain("__setitem__.0.forward");
  await visit.go({ view: "structure", problem: "golden" });
  await page.getByText("Step 0 of rank 0 is shown, the first that has ended.").waitFor();
});
