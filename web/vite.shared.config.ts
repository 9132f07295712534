import { createHash } from "node:crypto";
import { svelte } from "@sveltejs/vite-plugin-svelte";
import type { Plugin, Rolldown } from "vite";
import { defineConfig } from "vite";

/** Puts script and style into the page: a file that is opened by a double click can load no other. */
function oneFile(): Plugin {
  return {
    name: "one-file",
    // After Vite's own plugin, which fills in what each dynamic import loads.
    generateBundle: {
      order: "post",
      handler(_, bundle) {
        intoPage(bundle);
      },
    },
  };
}

function intoPage(bundle: Rolldown.OutputBundle): void {
  const files = Object.values(bundle);
  const page = files.find((f) => f.fileName.endsWith(".html"));
  const scripts = files.filter((f) => f.type === "chunk");
  const [script] = scripts;
  if (page?.type !== "asset" || script === undefined || scripts.length > 1)
    throw new Error(`the page is to be one script, and is ${String(scripts.length)}`);
  const styles = files.flatMap((f) => (f.type === "asset" && f.fileName.endsWith(".css") ? [String(f.source)] : []));
  page.source = inlined(String(page.source), script.code, styles.join("\n"));
  for (const file of files) if (file !== page) Reflect.deleteProperty(bundle, file.fileName);
}

// The policy lets nothing run but this script, and nothing be loaded.
function inlined(page: string, script: string, style: string): string {
  const safe = script.replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--");
  const hash = createHash("sha256").update(safe).digest("base64");
  const policy = `default-src 'none'; script-src 'sha256-${hash}'; style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'`;
  const head = `<meta http-equiv="Content-Security-Policy" content="${policy}" />\n<style>${style.replaceAll("</style", "<\\/style")}</style>\n`;
  const without = page.replace(/<script[^>]*><\/script>\s*/g, "").replace(/<link[^>]*rel="stylesheet"[^>]*>\s*/g, "");
  return without.replace("</head>", () => `${head}</head>`).replace("</body>", () => `<script type="module">${safe}</script>\n</body>`);
}

export default defineConfig({
  base: "./",
  publicDir: false,
  plugins: [svelte(), oneFile()],
  build: {
    outDir: "dist/shared",
    target: "es2023",
    cssCodeSplit: false,
    modulePreload: false,
    reportCompressedSize: false,
    rolldownOptions: { input: "shared.html", output: { codeSplitting: false } },
  },
});
