import { expect, test } from "vitest";
import { views } from "./address";
import { keyOf, viewOfKey } from "./keys";

test("each view has a key of its own", () => {
  const keys = views.map(keyOf);
  expect(new Set(keys).size).toBe(views.length);
  expect(keys.every((key) => key.length === 1)).toBe(true);
  const press = (key: string) => ({ key, ctrlKey: false, metaKey: false, altKey: false }) as KeyboardEvent;
  expect(keys.map((key) => viewOfKey(press(key)))).toEqual(views);
  expect(viewOfKey(press("x"))).toBeNull();
});
