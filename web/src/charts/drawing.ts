// A chart as shapes: what a canvas shows, and a file in SVG or PNG holds, are the same.

interface Rect {
  kind: "rect";
  x: number;
  y: number;
  width: number;
  height: number;
  fill: string;
}

/** A line through points, or the area that it encloses. */
interface Path {
  kind: "line" | "area";
  points: [number, number][];
  colour: string;
  dash?: number[];
}

interface Text {
  kind: "text";
  x: number;
  y: number; // of the middle of the letters
  text: string;
  colour: string;
  anchor: "start" | "middle" | "end";
}

/** Pixels that are stretched over a rectangle. */
interface Picture {
  kind: "picture";
  x: number;
  y: number;
  width: number;
  height: number;
  pixels: HTMLCanvasElement;
}

export type Shape = Rect | Path | Text | Picture;

export interface Drawing {
  width: number; // CSS pixels
  height: number;
  ground: string;
  shapes: Shape[];
}

export const letters = { size: 12, family: "system-ui, sans-serif" };

/** Draws on a canvas, which is as wide as the screen has pixels for it. */
export function paint(drawing: Drawing, canvas: HTMLCanvasElement, density: number): void {
  canvas.width = Math.round(drawing.width * density);
  canvas.height = Math.round(drawing.height * density);
  const to = canvas.getContext("2d");
  if (to === null) return;
  to.scale(density, density);
  to.fillStyle = drawing.ground;
  to.fillRect(0, 0, drawing.width, drawing.height);
  to.font = `${String(letters.size)}px ${letters.family}`;
  to.textBaseline = "middle";
  to.imageSmoothingEnabled = false;
  for (const shape of drawing.shapes) paintShape(shape, to);
}

function paintShape(shape: Shape, to: CanvasRenderingContext2D): void {
  switch (shape.kind) {
    case "rect":
      to.fillStyle = shape.fill;
      to.fillRect(shape.x, shape.y, shape.width, shape.height);
      break;
    case "text":
      to.fillStyle = shape.colour;
      to.textAlign = shape.anchor === "middle" ? "center" : shape.anchor;
      to.fillText(shape.text, shape.x, shape.y);
      break;
    case "picture":
      to.drawImage(shape.pixels, shape.x, shape.y, shape.width, shape.height);
      break;
    default:
      paintPath(shape, to);
  }
}

function paintPath(path: Path, to: CanvasRenderingContext2D): void {
  to.beginPath();
  for (const [x, y] of path.points) to.lineTo(x, y);
  if (path.kind === "area") {
    to.fillStyle = path.colour;
    to.fill();
    return;
  }
  to.strokeStyle = path.colour;
  to.lineWidth = path.dash ? 1.5 : 2;
  to.setLineDash(path.dash ?? []);
  to.stroke();
}

/** The drawing as a file that any program of pictures reads. */
export function svgOf(drawing: Drawing): string {
  const { width, height, ground, shapes } = drawing;
  const size = `width="${String(width)}" height="${String(height)}"`;
  const head = `<svg xmlns="http://www.w3.org/2000/svg" ${size} viewBox="0 0 ${String(width)} ${String(height)}" font-family="${letters.family}" font-size="${String(letters.size)}">`;
  return [head, `<rect ${size} fill="${escaped(ground)}"/>`, ...shapes.map(svgOfShape), "</svg>", ""].join("\n");
}

function svgOfShape(s: Shape): string {
  switch (s.kind) {
    case "rect":
      return `<rect ${attributes({ x: s.x, y: s.y, width: s.width, height: s.height, fill: s.fill })}/>`;
    case "text":
      return `<text ${attributes({ x: s.x, y: s.y, fill: s.colour, "text-anchor": s.anchor, "dominant-baseline": "central" })}>${escaped(s.text)}</text>`;
    case "picture":
      return `<image ${attributes({ x: s.x, y: s.y, width: s.width, height: s.height, preserveAspectRatio: "none", style: "image-rendering:pixelated", href: s.pixels.toDataURL() })}/>`;
    case "area":
      return `<polygon ${attributes({ points: listed(s.points), fill: s.colour })}/>`;
    case "line":
      return `<polyline ${attributes({ points: listed(s.points), fill: "none", stroke: s.colour, "stroke-width": s.dash ? 1.5 : 2, "stroke-dasharray": (s.dash ?? []).join(" ") })}/>`;
  }
}

function attributes(all: Record<string, string | number>): string {
  return Object.entries(all)
    .map(([name, value]) => `${name}="${typeof value === "number" ? short(value) : escaped(value)}"`)
    .join(" ");
}

function listed(points: [number, number][]): string {
  return points.map(([x, y]) => `${short(x)},${short(y)}`).join(" ");
}

function short(n: number): string {
  return String(Math.round(n * 100) / 100);
}

/** Names are hostile text, and XML takes no control characters, not even escaped. */
function escaped(text: string): string {
  const marks: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
  // eslint-disable-next-line no-control-regex -- those that XML forbids
  return text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd").replace(/[&<>"]/g, (m) => marks[m] ?? m);
}
