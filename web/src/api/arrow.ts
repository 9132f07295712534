// Columns over the wire. The library is loaded with the first of them.
import type { Table } from "apache-arrow";
import { ask, gapsOf, type Answer, type Parameters } from "./client";

export async function askArrow(path: string, parameters: Parameters, signal: AbortSignal): Promise<Answer<Table>> {
  const [{ tableFromIPC }, response] = await Promise.all([import("apache-arrow"), ask(path, { ...parameters, format: "arrow" }, signal)]);
  return { value: tableFromIPC(new Uint8Array(await response.arrayBuffer())), gaps: gapsOf(response) };
}
