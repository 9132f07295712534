import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, expect, test } from "vitest";
import { accessible, address, began, compared, eventually, hostile, picture, visitor } from "./page";

const visit = visitor();
const folder = mkdtempSync(join(tmpdir(), "tensortap-share-"));

afterAll(() => {
  rmSync(folder, { recursive: true });
});

test("a comparison is shared as a file, which opens by itself", async () => {
  const { page } = visit;
  await visit.go({ view: "verdict", ...compared });
  const downloaded = page.waitForEvent("download");
  await page.getByRole("link", { name: "Share as a file" }).click();
  const file = join(folder, "comparison.html");
  await (await downloaded).saveAs(file);

  const asked: string[] = [];
  const note = (request: { url: () => string }) => {
    if (page.url().startsWith("file:")) asked.push(request.url()); // what the page before it asks at its end is no question of the file
  };
  page.on("request", note);
  await page.goto(pathToFileURL(file).href);
  await page.getByText(`rank 0, in ${began}`).first().waitFor();
  await accessible(page, "the verdict in a file");
  await page.getByRole("link", { name: began }).first().click();
  const cursor = page.locator('[aria-selected="true"]');
  await eventually(() => cursor.textContent()).toContain(began);
  await page.getByRole("complementary", { name: "op under the cursor" }).getByText("Before it").waitFor();
  const agrees = page.locator('[title="no error is kept of what agrees"]').first();
  expect(await agrees.textContent(), "as on the page").toBe("");
  await picture(page, "share");
  await page.getByRole("grid").focus();
  await page.keyboard.press("n");
  await eventually(() => cursor.textContent()).not.toContain(began);
  await page.reload();
  await page.getByRole("grid").waitFor();
  expect(asked.filter((url) => !url.startsWith("file:")).map((url) => url.slice(0, 100))).toEqual([]);
  page.off("request", note);
});

test("names are text in a file, too", async () => {
  const { page } = visit;
  const query = new URLSearchParams({ problem: `${hostile}0`, bench: `${hostile}1` });
  const answer = await fetch(`${address}api/v1/share?${query.toString()}`);
  expect(answer.headers.get("Content-Disposition")).toContain("attachment");
  const file = join(folder, "hostile.html");
  writeFileSync(file, await answer.text());
  for (const view of ["verdict", "diff"]) {
    await page.goto(`${pathToFileURL(file).href}?view=${view}`);
    await page.getByText("<script>").first().waitFor();
    expect(await page.evaluate(() => document.querySelectorAll("img[src='x']").length)).toBe(0);
    expect(await page.title()).not.toBe("taken");
  }
});
