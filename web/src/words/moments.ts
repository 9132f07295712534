// Times are nanoseconds of UTC. A page shows UTC, and the reader's own time on hover.

export function utc(ns: number): string {
  return ns > 0 ? `${new Date(ns / 1e6).toISOString().slice(0, 19).replace("T", " ")} UTC` : "–";
}

export function local(ns: number): string {
  return ns > 0 ? new Date(ns / 1e6).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "long" }) : "";
}

const spans: [number, string][] = [
  [86_400, "day"],
  [3_600, "hour"],
  [60, "minute"],
];

/** How long ago, in the greatest unit that is whole. */
export function ago(ns: number, nowMs: number): string {
  const seconds = Math.max(0, nowMs / 1e3 - ns / 1e9);
  for (const [size, unit] of spans) {
    const n = Math.floor(seconds / size);
    if (n > 0) return `${String(n)} ${unit}${n === 1 ? "" : "s"} ago`;
  }
  return "just now";
}
