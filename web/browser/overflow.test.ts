import { test } from "vitest";
import { accessible, picture, visitor } from "./page";

const visit = visitor();

test("where NaN began, and how it spread", async () => {
  const { page } = visit;
  await visit.go({ view: "overflow", problem: "with-nan" });
  await page.getByText("NaN or infinity is first seen at step 1, rank 0").waitFor();
  await page.getByRole("img", { name: /tensors that are not finite at step 1/ }).waitFor();
  const row = (op: string) => page.getByRole("row").filter({ hasText: op }).first();
  await row("Tensor.__setitem__.0.forward").getByRole("cell", { name: "model.layers.2.mlp", exact: true }).waitFor();
  await row("Tensor.to.17.forward").getByRole("cell", { name: "model.layers.3.input_layernorm", exact: true }).waitFor();
  await accessible(page, "NaN and infinity");
  await picture(page, "overflow");
  await visit.go({ view: "overflow", problem: "with-nan", bench: "golden" });
  await page.getByRole("group", { name: "run" }).getByRole("button", { name: "golden" }).click();
  await page.getByText("Nothing that golden recorded is NaN or infinite").waitFor();
  await page.reload(); // which run is shown is in the link
  await page.getByText("Nothing that golden recorded is NaN or infinite").waitFor();
});
