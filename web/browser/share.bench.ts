// The file that a comparison is shared as, in a browser.
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { repeated, report, rounds, seconds } from "./figures";
import { visitor } from "./page";

const visit = visitor();

test("the file opens", async () => {
  const { page } = visit;
  const file = pathToFileURL(process.env["TENSORTAP_SHARED"] ?? "").href;
  const verdict = await repeated(rounds, () =>
    seconds(async () => {
      await page.goto(file);
      await page.getByText("Where to look next").waitFor();
    }),
  );
  const diff = await repeated(rounds, () =>
    seconds(async () => {
      await page.goto(`${file}?view=diff`);
      await page.getByRole("grid").getByRole("row").first().waitFor();
    }),
  );
  await page.getByRole("complementary", { name: "op under the cursor" }).getByText("Before it").waitFor();
  expect(await page.getByRole("grid").getAttribute("aria-rowcount")).not.toBe("0");
  report(
    { what: "the file opens", form: "s", values: verdict, mark: 2 },
    { what: "the file opens with its diff", form: "s", values: diff, mark: 2 },
  );
});
