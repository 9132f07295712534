// One browser for the stories of all files.
import { chromium } from "playwright-core";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  export interface ProvidedContext {
    browser: string; // where it listens
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await chromium.launchServer({
    executablePath: process.env["TENSORTAP_BROWSER"] ?? "/usr/bin/chromium",
    host: "127.0.0.1",
    args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-proxy-server"],
    timeout: 240_000,
  });
  project.provide("browser", server.wsEndpoint());
  return () => server.close();
}
