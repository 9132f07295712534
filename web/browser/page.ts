// A browser on the page of a running system, as the stories and pictures use it.
import { chromium, type Browser, type Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, inject } from "vitest";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

export { picture } from "./pictures";

export const patience = 240_000; // milliseconds: the machine may be busy with other tests

export const address = process.env["TENSORTAP_PAGE"] ?? "";
export const hostile = process.env["TENSORTAP_HOSTILE"] ?? "";

/** The runs that most stories compare, and where they begin to differ. */
export const compared = { problem: "nightly-42", bench: "golden" };
export const began = "Functional.linear.20.forward";

/** The page of one file's stories. Each story ends without a fault, but for those that it expected. */
export class Visitor {
  #browser: Browser | undefined;
  #page: Page | undefined;
  #expected: string | undefined; // a text of the faults that the story means to see
  #faults: string[] = []; // but for a 503, after which the page asks again: what the page said on its console, and requests that failed

  get page(): Page {
    if (this.#page === undefined) throw new Error("the page is open in a story only");
    return this.#page;
  }

  async open(): Promise<void> {
    this.#browser = await chromium.connect(inject("browser"), { timeout: patience });
    this.#page = await this.#browser.newPage({
      viewport: { width: 1280, height: 800 },
      colorScheme: "light",
      reducedMotion: "reduce",
      timezoneId: "Asia/Tokyo",
      locale: "en-GB",
    });
    this.#page.setDefaultTimeout(patience);
    this.#page.setDefaultNavigationTimeout(patience);
    this.#page.on("console", (m) => {
      if ((m.type() === "error" || m.type() === "warning") && !m.text().includes("status of 503")) this.#faults.push(m.text());
    });
    this.#page.on("pageerror", (error) => this.#faults.push(String(error)));
  }

  async close(): Promise<void> {
    await this.#browser?.close();
  }

  async go(parameters: Record<string, string | string[]>): Promise<void> {
    await this.page.goto(at(parameters));
  }

  /** The faults of a story so far have the text in it, and others with it may follow: the page asks again where news come. */
  expectFaults(text: string): void {
    expect(this.#faults.filter((f) => !f.includes(text))).toEqual([]);
    this.#expected = text;
  }

  expectNoFaults(): void {
    const faults = this.#faults.splice(0).filter((f) => this.#expected === undefined || !f.includes(this.#expected));
    this.#expected = undefined;
    expect(faults, "what the page said on its console").toEqual([]);
  }
}

/** Opens the page for the stories of the file that calls it. */
export function visitor(): Visitor {
  const one = new Visitor();
  beforeAll(() => one.open());
  afterEach(() => {
    one.expectNoFaults();
  });
  afterAll(() => one.close());
  return one;
}

export function at(parameters: Record<string, string | string[]>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) for (const one of [value].flat()) query.append(name, one);
  return `${address}?${query.toString()}`;
}

/** Waits until what is said is so, for as long as a busy machine may take. */
export function eventually<T>(say: () => T | Promise<T>) {
  return expect.poll(say, { timeout: patience });
}

/** axe finds nothing serious in what is shown. */
export async function accessible(page: Page, what: string): Promise<void> {
  const axe = createRequire(import.meta.url).resolve("axe-core");
  // The policy lets no script in by an element, so the library comes as the browser's own.
  await page.evaluate(readFileSync(axe, "utf8"));
  const found = await page.evaluate(async () => {
    interface Axe {
      run: (options: unknown) => Promise<{ violations: { id: string; impact: string; nodes: { html: string }[] }[] }>;
    }
    const { violations } = await (globalThis as unknown as { axe: Axe }).axe.run({ resultTypes: ["violations"] });
    return violations
      .filter((v) => v.impact === "serious" || v.impact === "critical")
      .map((v) => `${v.id}: ${v.nodes.map((n) => n.html.slice(0, 200)).join(" | ")}`);
  });
  expect(found, what).toEqual([]);
}
