// A list of a million rows in a browser.
import { Table, tableToIPC, Utf8, vectorFromArray } from "apache-arrow";
import { createServer, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Page } from "playwright-core";
import { test } from "vitest";
import { repeated, report, rounds } from "./figures";
import { address, visitor } from "./page";

const visit = visitor();

/** Frames a second while a list scrolls over its whole length for two seconds. */
async function framesOf(page: Page): Promise<number> {
  return page.evaluate(
    () =>
      new Promise<number>((resolve) => {
        const box = document.querySelector<HTMLElement>('[role="grid"]');
        const begin = performance.now();
        let frames = 0;
        const frame = () => {
          const passed = performance.now() - begin;
          if (passed >= 2_000 || box === null) {
            resolve((frames / passed) * 1e3);
            return;
          }
          frames++;
          box.scrollTop = (passed / 2_000) * box.scrollHeight;
          requestAnimationFrame(frame);
        };
        requestAnimationFrame(frame);
      }),
  );
}

test("a million rows scroll", async () => {
  const { page } = visit;
  const server = await withSequence(Buffer.from(tableToIPC(millionOps(), "stream")));
  const { port } = server.address() as AddressInfo;
  await page.goto(`http://127.0.0.1:${String(port)}/?view=diff&problem=problem&bench=bench`);
  await page.getByRole("grid").getByRole("row").first().waitFor();
  const frames = await repeated(rounds, () => framesOf(page));
  await page.goto("about:blank"); // which ends what it still asks
  server.close();
  visit.expectFaults("404"); // the program has none of these ops
  report({
    what: "a million rows scroll, from the first to the last in two seconds",
    form: "frames",
    values: frames,
    mark: 50,
    at_least: true,
  });
});

/** Stands before the program, and answers alone what the ops of two runs are: the browser's own protocol carries no answer of that size. */
async function withSequence(body: Buffer): Promise<Server> {
  const program = new URL(address);
  const server = createServer((asked, answer) => {
    if (asked.url?.startsWith("/api/v1/reports/sequence")) {
      answer.writeHead(200, { "Content-Type": "application/vnd.apache.arrow.stream" }).end(body);
      return;
    }
    const headers = Object.fromEntries(Object.entries(asked.headers).filter(([name]) => name !== "origin")); // it is that of another page
    const onward = request({
      host: program.hostname,
      port: program.port,
      method: asked.method,
      path: asked.url,
      headers: { ...headers, host: program.host },
    });
    onward.on("response", (got) => got.pipe(answer.writeHead(got.statusCode ?? 500, got.headers)));
    onward.on("error", () => answer.destroy());
    answer.on("close", () => onward.destroy());
    asked.pipe(onward);
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  return server;
}

/** An answer of the program with a million ops, of which one in a hundred differs. */
function millionOps(): Table {
  const rows = Array.from({ length: 1_000_000 }, (_, row) => row);
  const texts = (of: (row: number) => string) => vectorFromArray(rows.map(of), new Utf8());
  const names = texts((row) => `Tensor.add.${String(row)}.forward`);
  return new Table({
    rank: vectorFromArray(new Uint32Array(rows.length)),
    step: vectorFromArray(new Uint32Array(rows.length)),
    position: vectorFromArray(Uint32Array.from(rows)),
    problem_op: names,
    bench_op: names,
    verdict: texts((row) => (row % 100 === 0 ? "diverged" : "same")),
    error: vectorFromArray(Float64Array.from(rows, (row) => (row % 100 === 0 ? 1e-3 : 0))),
  });
}
