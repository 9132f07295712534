// A browser on the page of a running system, as the tests and pictures use it.
import { chromium, type Browser, type Page } from "playwright-core";
import { mkdirSync } from "node:fs";
import { join } from "node:path";

const patience = 240_000; // milliseconds: the machine may be busy with other tests

export interface Open {
  page: Page;
  faults: string[]; // what the page said on its console, and requests that failed
  close: () => Promise<void>;
}

export const address = process.env["TENSORTAP_PAGE"] ?? "";
export const hostile = process.env["TENSORTAP_HOSTILE"] ?? "";

export async function open(theme: "light" | "dark" = "light"): Promise<Open> {
  const browser: Browser = await chromium.launch({
    executablePath: process.env["TENSORTAP_BROWSER"] ?? "chromium",
    args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-proxy-server"],
    timeout: patience,
  });
  const page = await browser.newPage({
    viewport: { width: 1280, height: 800 },
    colorScheme: theme,
    reducedMotion: "reduce",
    timezoneId: "Asia/Tokyo",
    locale: "en-GB",
  });
  page.setDefaultTimeout(patience);
  page.setDefaultNavigationTimeout(patience);
  const faults: string[] = [];
  page.on("console", (m) => {
    if (m.type() === "error" || m.type() === "warning") faults.push(m.text());
  });
  page.on("pageerror", (error) => faults.push(String(error)));
  return { page, faults, close: () => browser.close() };
}

export function at(parameters: Record<string, string | string[]>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) for (const one of [value].flat()) query.append(name, one);
  return `${address}?${query.toString()}`;
}

/** Keeps a picture where TENSORTAP_PICTURES names a folder. */
export async function picture(page: Page, name: string): Promise<void> {
  const folder = process.env["TENSORTAP_PICTURES"];
  if (!folder) return;
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `${name}.png`), animations: "disabled" });
}
