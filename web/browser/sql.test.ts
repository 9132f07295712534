import { test } from "vitest";
import { accessible, picture, visitor } from "./page";

const visit = visitor();

test("the database is asked in SQL, and the answer is drawn", async () => {
  const { page } = visit;
  const query =
    "SELECT\n    seq,\n    value_max,\n    value_min\nFROM tap.tensors\nWHERE run = 'nightly-42'\n    AND role = 'output'\nORDER BY seq, path";
  await visit.go({ view: "sql", query });
  await page.getByRole("button", { name: "Chart" }).click();
  await page.getByRole("img", { name: "the answer as a chart" }).waitFor();
  await page.getByText("tap.tensors", { exact: true }).first().waitFor();
  await accessible(page, "SQL");
  await picture(page, "sql");
});

test("what is typed into the editor is a query, and no command of the page", async () => {
  const { page } = visit;
  await visit.go({ view: "sql" });
  await page.getByLabel("query in SQL").click();
  await page.keyboard.press("Control+a");
  await page.keyboard.type("SELECT 12 AS dozen");
  await page.keyboard.press("Control+Enter");
  await page.getByRole("columnheader", { name: "dozen" }).waitFor();
});

test("no query changes the database", async () => {
  const { page } = visit;
  await visit.go({ view: "sql", query: "INSERT INTO tap_store.run (name) VALUES ('planted')" });
  await page.getByRole("alert").waitFor();
  visit.expectFaults("400");
});
