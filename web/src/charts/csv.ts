/** Rows as CSV. A text that a spreadsheet would take for a formula begins with an apostrophe. */
export function csvOf(columns: string[], rows: unknown[][]): string {
  return [columns, ...rows].map((row) => `${row.map(field).join(",")}\n`).join("");
}

function field(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (typeof value !== "string") return String(value as number | bigint | boolean);
  const text = /^[=+\-@\t\r]/.test(value) && Number.isNaN(Number(value)) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
