import { defineConfig } from "vitest/config";

// The browser is one for all stories, which go one after the other, in this process: who ends it ends the browser. What is
// awaited comes; how soon is the machine's.
export default defineConfig({
  test: {
    include: ["browser/**/*.test.ts"],
    globalSetup: "browser/setup.ts",
    fileParallelism: false,
    pool: "threads",
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
});
