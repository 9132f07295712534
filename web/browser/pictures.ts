// Pictures of the views: what the docs show is what the stories hold the page to.
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pixelmatch from "pixelmatch";
import type { Page } from "playwright-core";
import { PNG } from "pngjs";

const kept = "../docs/pictures/page";
const tolerated = 0.01; // share of the pixels that another version of the browser may draw otherwise
const varies = ["time", "[data-varies]"]; // what shows moments and durations

interface Rectangle {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** Fonts that come with Debian's Chromium, whatever else a machine has. */
export async function pinFonts(page: Page): Promise<void> {
  await page.evaluate(() => {
    const { style } = document.documentElement;
    style.setProperty("--font", '"DejaVu Sans"');
    style.setProperty("--font-fixed", '"DejaVu Sans Mono"');
  });
}

/**
 * Holds what is seen against the kept picture. What varies from run to run is left out, also where these selectors
 * find it. `make screenshots` keeps new pictures.
 */
export async function picture(page: Page, name: string, alsoVaries: string[] = []): Promise<void> {
  await pinFonts(page);
  const seen = await page.screenshot({ animations: "disabled", caret: "hide" });
  const file = join(kept, `${name}.png`);
  if (process.env["TENSORTAP_PICTURES"]) {
    mkdirSync(kept, { recursive: true });
    writeFileSync(file, seen);
    return;
  }
  const blank = await rectanglesOf(page, [...varies, ...alsoVaries]);
  const share = differing(PNG.sync.read(seen), wanted(file), blank);
  if (share <= tolerated) return;
  const folder = mkdtempSync(join(tmpdir(), "tensortap-picture-"));
  writeFileSync(join(folder, `${name}.png`), seen);
  throw new Error(`${(100 * share).toFixed(1)}% of ${file} look otherwise: see ${folder}; if that is meant, make screenshots`);
}

function wanted(file: string): PNG {
  try {
    return PNG.sync.read(readFileSync(file));
  } catch (problem) {
    throw new Error(`read the picture to hold the page against, ${file}: ${String(problem)}; make screenshots keeps one`, {
      cause: problem,
    });
  }
}

async function rectanglesOf(page: Page, selectors: string[]): Promise<Rectangle[]> {
  const found = await page.locator(selectors.join(", ")).all();
  const boxes = await Promise.all(found.map((one) => one.boundingBox()));
  return boxes.filter((box) => box !== null);
}

/** The share of pixels that differ beyond what smooths edges. */
function differing(seen: PNG, before: PNG, blank: Rectangle[]): number {
  const { width, height } = seen;
  if (width !== before.width || height !== before.height) return 1;
  for (const image of [seen, before]) for (const at of blank) wipe(image, at);
  return pixelmatch(seen.data, before.data, undefined, width, height, { threshold: 0.2 }) / (width * height);
}

function wipe(image: PNG, at: Rectangle): void {
  const [left, right] = [Math.max(0, Math.floor(at.x)), Math.min(image.width, Math.ceil(at.x + at.width))];
  const [top, bottom] = [Math.max(0, Math.floor(at.y)), Math.min(image.height, Math.ceil(at.y + at.height))];
  for (let y = top; y < bottom; y++) image.data.fill(0, 4 * (y * image.width + left), 4 * (y * image.width + Math.max(left, right)));
}
