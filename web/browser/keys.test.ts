import { afterAll, test } from "vitest";
import { accessible, compared, eventually, visitor } from "./page";

const visit = visitor();

afterAll(async () => {
  await visit.page.evaluate(() => {
    localStorage.clear();
  });
});

test("the page is worked by keys: views, commands, colours", async () => {
  const { page } = visit;
  await visit.go({ view: "runs", ...compared });
  await page.getByRole("button", { name: "problem: nightly-42" }).waitFor();
  await page.keyboard.press("2");
  await page.getByText("Where to look next").waitFor();
  await page.keyboard.press("Control+k");
  await page.getByPlaceholder("a view, a run, a command").fill("light and dark");
  await page.keyboard.press("Enter");
  await eventually(() => page.evaluate(() => document.documentElement.dataset["theme"])).toBe("dark");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await accessible(page, "verdict in the dark");
});

test("the diff and the commands are legible in the dark", async () => {
  const { page } = visit;
  await visit.go({ view: "diff", ...compared });
  await page.evaluate(() => {
    localStorage.setItem("tensortap-theme", "dark");
  });
  await page.reload();
  await eventually(() => page.evaluate(() => document.documentElement.dataset["theme"])).toBe("dark");
  await page.getByRole("grid").waitFor();
  await accessible(page, "diff in the dark");
  await page.keyboard.press("Control+k");
  await page.getByPlaceholder("a view, a run, a command").fill("with-nan");
  await page.getByRole("dialog").getByRole("option").first().waitFor();
  await accessible(page, "commands");
  await page.keyboard.press("Escape");
});
