// How a rank fares, with the marks and colours that all views have for it.
import type { Kind } from "./verdicts";

const kinds: Record<string, Omit<Kind, "name" | "word">> = {
  running: { mark: "●", colour: "good", meaning: "it gives signs of life" },
  ended: { mark: "✓", colour: "same", meaning: "it ended in order" },
  raised: { mark: "✗", colour: "diverged", meaning: "an op, or the program, raised in its last step" },
  died: { mark: "✗", colour: "diverged", meaning: "the process ended without a word, or by an error" },
  silent: { mark: "◌", colour: "alone", meaning: "it gives no signs of life, and nobody knows its end" },
  waiting: { mark: "…", colour: "alone", meaning: "it ended as it waited for others, or was ended by its launcher" },
  "peer gone": { mark: "⇥", colour: "alone", meaning: "it raised as another rank was gone" },
  "cut short": { mark: "◐", colour: "alone", meaning: "its last step is not whole" },
  "no step yet": { mark: "○", colour: "same", meaning: "it began, and no step of it is known" },
  "never heard of": { mark: "?", colour: "unknown", meaning: "the world size has it, and nothing else is known of it" },
};

export function rankKind(state: string): Kind {
  const kind = kinds[state] ?? { mark: "·", colour: "same", meaning: state };
  return { name: state, word: state, ...kind };
}
