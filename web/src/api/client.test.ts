import { afterEach, expect, test, vi } from "vitest";
import { addressOf, askJSON, Refused } from "./client";

afterEach(() => {
  vi.unstubAllGlobals();
});

function answering(response: Response | Error): void {
  vi.stubGlobal("fetch", () => (response instanceof Error ? Promise.reject(response) : Promise.resolve(response)));
}

test("names are escaped, lists are repeated, and what is not given is left out", () => {
  expect(addressOf("compare", { problem: "a&b=<c>", bench: ["x", "y z"], rank: null, step: 0, find: "" })).toBe(
    "api/v1/compare?problem=a%26b%3D%3Cc%3E&bench=x&bench=y+z&step=0",
  );
});

test("an answer brings what is missing of it", async () => {
  answering(new Response('{"rows":[]}', { headers: { "Tensortap-Incomplete": '["run a rank 1: 3 rows lost"]' } }));
  expect(await askJSON("runs", {})).toEqual({ value: { rows: [] }, gaps: ["run a rank 1: 3 rows lost"] });
});

test("a refusal has the program's words, or else a proxy's", async () => {
  answering(new Response('{"status":404,"error":"no run is named \\"x\\""}', { status: 404 }));
  await expect(askJSON("compare", {})).rejects.toEqual(new Refused(404, 'no run is named "x"'));
  answering(new Response("<h1>Bad gateway</h1>", { status: 502 }));
  await expect(askJSON("compare", {})).rejects.toEqual(new Refused(502, "<h1>Bad gateway</h1>"));
});

test("of a run that is not there, the names like it are known", async () => {
  answering(new Response('{"status":404,"error":"none","unknown_run":"goldne","nearest_runs":["golden"]}', { status: 404 }));
  await expect(askJSON("compare", {})).rejects.toMatchObject({ unknown: { run: "goldne", nearest: ["golden"] } });
  answering(new Response('{"status":404,"error":"none","unknown_run":"x","nearest_runs":null}', { status: 404 }));
  await expect(askJSON("compare", {})).rejects.toMatchObject({ unknown: { run: "x", nearest: [] } });
});

test("a program that is gone is said to be", async () => {
  answering(new TypeError("Failed to fetch"));
  await expect(askJSON("runs", {})).rejects.toThrow("does not answer");
});
