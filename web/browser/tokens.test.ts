import { expect, test } from "vitest";
import { accessible, compared, eventually, picture, visitor } from "./page";

const visit = visitor();
const shifted = { problem: "shifted", bench: "batch" };
const trained = { problem: "rollout-unsynchronised", bench: "trainer-unsynchronised" };

test("where tokens begin to differ, at which positions, and which are the worst", async () => {
  const { page } = visit;
  await visit.go({ view: "verdict", ...shifted });
  await page.getByRole("link", { name: "Token by token" }).click(); // these runs have nothing else to compare
  const sentence = page.getByRole("heading", { level: 1 });
  await eventually(() => sentence.textContent()).toContain(
    "Tokens begin to differ at layer 1, attention: 24 of 42 tokens, first at position 6",
  );
  const places = page.getByRole("region", { name: "error by place" });
  expect(await places.getByRole("row").filter({ hasText: "begins" }).textContent()).toMatch(/^\s*1\s*attention/);
  await page.getByRole("img", { name: "error of tokens at layer 1, attention over positions" }).waitFor();
  const worst = page.getByRole("region", { name: "worst tokens" }).getByRole("row");
  await eventually(() => worst.nth(1).textContent()).toMatch(/^\s*[0-9a-f]{16}\s*0\s*\d+\s*layer 1, attention/);
  await accessible(page, "tokens");
  await picture(page, "tokens");
  await places.getByRole("row").filter({ hasText: "logits" }).getByRole("button").click();
  await eventually(() => worst.nth(1).textContent()).toContain("layer 3, logits");
  await page.reload(); // the place is in the link
  await page.getByRole("img", { name: "error of tokens at layer 3, logits over positions" }).waitFor();
});

test("in which step log-probabilities drift, and of what", async () => {
  const { page } = visit;
  await visit.go({ view: "runs", ...trained });
  await page.getByRole("button", { name: `problem: ${trained.problem}` }).waitFor();
  await page.keyboard.press("t");
  const told = page.getByRole("region", { name: "log-probabilities" });
  await told.getByText("Log-probabilities drift in 1 of 4 steps, first in step 2: suspected cause weights.").waitFor();
  expect(await told.getByRole("row").nth(1).textContent()).toContain("checksums of 21 of 21 parameters differ");
  await told.getByRole("button", { name: "clipped share" }).click();
  await page.getByRole("img", { name: "clipped share over 4 steps" }).waitFor();
  await page.reload(); // the statistic is in the link
  await page.getByRole("img", { name: "clipped share over 4 steps" }).waitFor();
  await accessible(page, "log-probabilities");
  await told.getByRole("button", { name: "log-prob" }).click();
  await page.getByRole("img", { name: "log-prob| over 4 steps" }).waitFor();
  await picture(page, "logprobs");
});

test("runs without tokens are told how to get some", async () => {
  const { page } = visit;
  await visit.go({ view: "tokens", ...compared });
  await page.getByText(`tensortap run --run ${compared.problem}-tokens --level tokens`).waitFor();
});
