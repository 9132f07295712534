import { defineConfig } from "vitest/config";

// The browser is one for all stories, which go one after the other. What is awaited comes; how soon is the machine's.
export default defineConfig({
  test: { include: ["browser/**/*.test.ts"], fileParallelism: false, testTimeout: 300_000, hookTimeout: 300_000 },
});
