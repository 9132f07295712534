import { defineConfig } from "vitest/config";
import bench from "./bench.config";

export default defineConfig({ test: { ...bench.test, include: ["browser/**/*.drawn.ts"] } });
