import { afterEach, expect, test, vi } from "vitest";
import { whileIdle } from "./idle";

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test.each(["says when it is idle", "does not say"])("work goes on until it is done, in a browser that %s", (kind) => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] });
  if (kind === "says when it is idle") {
    vi.stubGlobal("requestIdleCallback", (call: (idle: IdleDeadline) => void) =>
      setTimeout(call, 1, { timeRemaining: () => 5, didTimeout: false }),
    );
    vi.stubGlobal("cancelIdleCallback", clearTimeout);
  }
  let done = 0;
  whileIdle((left) => left() && ++done < 3);
  vi.runAllTimers();
  expect(done).toBe(3);
  const end = whileIdle(() => ++done < 10);
  end();
  vi.runAllTimers();
  expect(done).toBe(3);
});
