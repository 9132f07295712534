// From two dumps to a picture: msProbe's plug-in in TensorBoard, and a comparison of ours as one file, in the same browser.
import { execFile, spawn } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import type { FrameLocator, Page } from "playwright-core";
import { expect, test } from "vitest";
import { repeated, report, rounds, seconds } from "./figures";
import { began, patience, visitor } from "./page";

const visit = visitor();
const run = promisify(execFile);
const given = (name: string) => process.env[name] ?? "";
const msprobe = given("TENSORTAP_MSPROBE"); // its executable; TensorBoard's stands beside it
const [problem, bench] = [given("TENSORTAP_PROBLEM"), given("TENSORTAP_BENCH")];
const much = { maxBuffer: 1 << 28 };

/** Bytes that pages take from their servers, of all frames. */
async function counting(page: Page): Promise<() => number> {
  let bytes = 0;
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("Network.enable");
  devtools.on("Network.loadingFinished", (e) => (bytes += e.encodedDataLength));
  return () => bytes;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((done) => server.once("listening", done));
  const { port } = server.address() as AddressInfo;
  await new Promise((done) => server.close(done));
  return port;
}

async function withTensorBoard(folder: string, job: (address: string) => Promise<void>): Promise<void> {
  const port = await freePort();
  const server = spawn(join(dirname(msprobe), "tensorboard"), ["--logdir", folder, "--host", "127.0.0.1", "--port", String(port)], {
    stdio: "ignore",
  });
  try {
    const address = `http://127.0.0.1:${String(port)}`;
    await expect
      .poll(
        () =>
          fetch(`${address}/data/plugins_listing`).then(
            (r) => r.text(),
            () => "",
          ),
        { timeout: patience },
      )
      .toContain("graph_ascend");
    await job(`${address}/#graph_ascend`);
  } finally {
    server.kill();
  }
}

const graphOf = (page: Page): FrameLocator => page.frameLocator("#graph_ascend iframe, iframe");

async function theirPicture(page: Page, look: () => Promise<void> = () => Promise.resolve()): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "graph-"));
  await run(msprobe, ["graph_visualize", "-tp", join(problem, "step0"), "-gp", join(bench, "step0"), "-o", folder], much);
  await withTensorBoard(folder, async (address) => {
    await page.goto(address);
    await graphOf(page).locator("text", { hasText: "Module.model" }).first().waitFor();
    await look();
  });
}

const marks = ["Warning", "Error"];

/** The first op of the list of those that have such a mark. */
async function theirFirst(page: Page): Promise<string> {
  const graph = graphOf(page);
  for (const mark of marks) await graph.locator("label").getByText(mark, { exact: true }).click();
  const list = graph.getByText(/^\w+\.\w+\.\d+\.(forward|backward)$/);
  await list.first().waitFor();
  return (await list.first().textContent()) ?? "";
}

/** The size of the file, in bytes. */
async function ourPicture(page: Page): Promise<number> {
  const file = join(mkdtempSync(join(tmpdir(), "shared-")), "comparison.html");
  const { stdout } = await run(given("TENSORTAP_BINARY"), ["compare", problem, bench, "--output", "html"], much).catch(
    (e: { code: number; stdout: string }) => {
      if (e.code !== 1) throw e as unknown as Error; // 1: the runs differ
      return e;
    },
  );
  writeFileSync(file, stdout);
  await page.goto(pathToFileURL(file).href);
  await page.getByText("Where to look next").waitFor();
  await page.getByText(began).first().waitFor();
  return Buffer.byteLength(stdout);
}

test("from two dumps to a picture", async () => {
  const { page } = visit;
  const ours = await repeated(rounds, () => seconds(() => ourPicture(page)));
  const size = await ourPicture(page);
  const theirs = await repeated(rounds, () => seconds(() => theirPicture(page)));
  const bytes = await counting(page);
  let taken = 0;
  let first = "";
  await theirPicture(page, async () => {
    taken = bytes();
    first = await theirFirst(page);
  });
  visit.expectFaults("Three.js"); // theirs
  report(
    { what: "ours: `compare DIR DIR --output html`, opened", form: "s", values: ours },
    { what: "msProbe's `graph_visualize`, TensorBoard started and opened", form: "s", values: theirs },
    { what: "ours: the file, with all in it", form: "MB", values: [size] },
    { what: "what the browser takes from TensorBoard", form: "MB", values: [taken] },
    { what: `ours: clicks to the planted op, ${began}`, form: "clicks", values: [0] },
    { what: `TensorBoard: clicks to a list of suspects, which begins with ${first}`, form: "clicks", values: [marks.length] },
  );
});
