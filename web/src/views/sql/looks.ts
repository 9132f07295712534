// How the editor looks: the page's colours and distances, which reach into its root as custom properties do.
import { HighlightStyle } from "@codemirror/language";
import { EditorView } from "@codemirror/view";
import { tags } from "@lezer/highlight";

export const colours = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--accent)", fontWeight: "600" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--good)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--not-finite)" },
  { tag: tags.comment, color: "var(--ink-soft)", fontStyle: "italic" },
]);

export const looks = EditorView.theme({
  "&": { color: "var(--ink)", fontSize: "var(--text)", minHeight: "9rem" },
  ".cm-content, .cm-gutters": { fontFamily: "var(--font-fixed)" },
  ".cm-content": { caretColor: "var(--ink)" },
  ".cm-gutters": { background: "var(--raised)", border: "0", color: "var(--ink-soft)" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": { background: "var(--cursor) !important" },
  ".cm-tooltip": { background: "var(--raised)", border: "1px solid var(--line)", color: "var(--ink)" },
  ".cm-tooltip.cm-tooltip-autocomplete ul li[aria-selected]": { background: "var(--accent)", color: "var(--accent-ink)" },
});
