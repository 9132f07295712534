import { test } from "vitest";
import { visitor } from "./page";

const visit = visitor();
const guarded = process.env["TENSORTAP_GUARDED"] ?? ""; // a page that wants a token
const token = process.env["TENSORTAP_TOKEN"] ?? "";

test("where a token is wanted, it is shown once", async () => {
  const { page } = visit;
  await page.goto(`${guarded}?view=verdict&problem=nightly-42&bench=golden`);
  const field = page.getByLabel("token");
  await field.fill("tensortap_NOBODYS");
  await page.keyboard.press("Enter");
  await page.getByRole("alert").filter({ hasText: "token" }).waitFor();
  await field.fill(token);
  await page.getByRole("button", { name: "Show the token" }).click();
  await page.getByText("Where to look next").waitFor();
  visit.expectFaults("401");
  await page.reload();
  await page.getByText("Where to look next").waitFor();
});
