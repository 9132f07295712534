import { defineConfig } from "vitest/config";

// One browser after the other, so that none takes another's time.
export default defineConfig({
  test: {
    include: ["browser/**/*.bench.ts"],
    globalSetup: "browser/setup.ts",
    disableConsoleIntercept: true, // who waits sees each figure as it comes
    fileParallelism: false,
    pool: "threads",
    testTimeout: 900_000,
    hookTimeout: 900_000,
  },
});
