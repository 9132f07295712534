import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { Inside, type Index } from "./inside";

const hostile = "</script><img src=x> \u202e🔥";

const parts: unknown[] = [
  { verdict: "differs" },
  { place: "step 5" },
  { place: "step 3" },
  { [`0 3 ${hostile}`]: 4 },
  { [`0 3 ${hostile}`]: { op: hostile } },
];

const index: Index = {
  version: "1",
  made_ns: 0,
  problem: "bad",
  benches: ["good"],
  gaps: [`rank 1: ${hostile}`],
  answers: { compare: 0 },
  sequences: [
    { rank: 0, step: 5, part: 1 },
    { rank: 0, step: 3, part: 2 },
  ],
  explained: 3,
};

function inside(): Inside {
  return new Inside(index, (part) => {
    const packed = gzipSync(JSON.stringify(parts[part]));
    return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip")));
  });
}

async function asked(address: string): Promise<unknown> {
  return (await inside().answer(`api/v1/${address}`)).json();
}

test("the comparison is answered, with what is missing of it", async () => {
  const answer = await inside().answer("api/v1/compare?problem=bad&bench=good");
  expect(JSON.parse(answer.headers.get("Tensortap-Incomplete") ?? "")).toEqual(index.gaps);
  expect(await answer.json()).toEqual({ verdict: "differs" });
});

test("the ops of a place are answered, of the first where none is named", async () => {
  expect(await asked("reports/sequence?problem=bad&format=arrow")).toEqual({ place: "step 5" });
  expect(await asked("reports/sequence?problem=bad&rank=0&step=3")).toEqual({ place: "step 3" });
  expect((await inside().answer("api/v1/reports/sequence?rank=7")).status).toBe(404);
});

test("an op is explained by its name, whatever that is", async () => {
  const of = (op: string) => `explain?${new URLSearchParams({ op, rank: "0", step: "3" }).toString()}`;
  expect(await asked(of(hostile))).toEqual({ op: hostile });
  expect(await asked(of("another"))).toMatchObject({ status: 404, error: expect.stringContaining("tensortap explain") as string });
});

test("what is not in the file is refused in words", async () => {
  expect(await asked("reports/trend?run=bad")).toMatchObject({ status: 404, error: expect.stringContaining("tensortap up") as string });
});
