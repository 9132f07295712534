// The answers that are within a file, by the addresses at which the page asks the program.

/** What is where; analysis/share writes it. */
export interface Index {
  version: string;
  made_ns: number;
  problem: string;
  benches: string[];
  gaps: string[];
  answers: Record<string, number>; // part by path
  sequences: { rank: number; step: number; part: number }[]; // the one that is shown first comes first
  explained: number; // part that says in which part each op is explained
}

/** Reads a part, which is gzip in base64. */
export type Parts = (part: number) => Response;

export class Inside {
  readonly #index: Index;
  readonly #parts: Parts;
  readonly #read = new Map<number, Promise<Record<string, unknown>>>();

  constructor(index: Index, parts: Parts) {
    this.#index = index;
    this.#parts = parts;
  }

  /** Answers as the program would, if the answer is in the file. */
  async answer(address: string): Promise<Response> {
    const { pathname, searchParams } = new URL(address, "file:///");
    const path = pathname.replace(/^\/api\/v1\//, "");
    if (path === "explain") return this.#explanation(searchParams);
    const part = path === "reports/sequence" ? this.#sequence(searchParams) : this.#index.answers[path];
    return part === undefined ? refused("This file holds the comparison alone. Ask the program for more: tensortap up") : this.#told(part);
  }

  #told(part: number): Response {
    const headers = this.#index.gaps.length > 0 ? { "Tensortap-Incomplete": asciiOf(this.#index.gaps) } : {};
    return new Response(this.#parts(part).body, { headers });
  }

  #sequence(asked: URLSearchParams): number | undefined {
    const is = (name: string, value: number) => !asked.has(name) || asked.get(name) === String(value);
    return this.#index.sequences.find((s) => is("rank", s.rank) && is("step", s.step))?.part;
  }

  async #explanation(asked: URLSearchParams): Promise<Response> {
    const key = ["rank", "step", "op"].map((name) => asked.get(name) ?? "").join(" ");
    const part = (await this.#object(this.#index.explained))[key];
    if (typeof part !== "number")
      return refused(
        "The tensors of this op are not in the file, which holds those of the ops that differ first. The program has them: tensortap explain",
      );
    return Response.json((await this.#object(part))[key]);
  }

  /** A part that holds an object; it is read once. */
  #object(part: number): Promise<Record<string, unknown>> {
    const read = this.#read.get(part) ?? (this.#parts(part).json() as Promise<Record<string, unknown>>);
    this.#read.set(part, read);
    return read;
  }
}

function refused(error: string): Response {
  return Response.json({ status: 404, error }, { status: 404 });
}

/** Headers take no other letters. */
function asciiOf(list: string[]): string {
  return JSON.stringify(list).replace(/[^ -~]/g, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** Reads parts from the elements of a page. */
export function partsOf(page: Document): Parts {
  return (part) => {
    const text = atob(page.getElementById(`part-${String(part)}`)?.textContent ?? "");
    const bytes = Uint8Array.from(text, (letter) => letter.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")));
  };
}
