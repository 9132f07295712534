import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vitest/config";

// While one works on the page, a running program answers.
const proxy = { "/api": { target: process.env["TENSORTAP_PAGE"] ?? "http://127.0.0.1:7070" } };

// The server's policy allows no inline scripts, so nothing is inlined; and addresses are relative: the page works below any
// path of a proxy.
export default defineConfig({
  base: "./",
  plugins: [svelte()],
  build: {
    outDir: "dist/page",
    target: "es2023",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    manifest: true,
  },
  test: { include: ["src/**/*.test.ts"] },
  server: { proxy },
  preview: { proxy },
});
