/** Rows as CSV. A text that a spreadsheet would take for a formula begins with an apostrophe. */
export function csvOf(columns: string[], rows: unknown[][]): string {
  return [columns, ...rows].map((row) => `${row.map(field).join(",")}\n`).join("");
}

function field(value: unknown): string {
  if (value === null || value === undefined) return "";
  const given = typeof value === "object" ? JSON.stringify(value) : value; // of arrays and maps
  if (typeof given !== "string") return String(given as number | bigint | boolean);
  const text = /^[=+\-@\t\r]/.test(given) && Number.isNaN(Number(given)) ? `'${given}` : given;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
