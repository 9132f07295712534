// Work for when the page has nothing else to do.

const share = 8; // milliseconds at a time where the browser, as Safari, does not say when it is idle

/** Calls work again and again while the page is idle. Work says whether there is more; it may ask whether time is left. Returns what ends it. */
export function whileIdle(work: (left: () => boolean) => boolean): () => void {
  let cancel = next();

  function next(): () => void {
    if (!("requestIdleCallback" in globalThis)) {
      const waiting = setTimeout(() => {
        const end = Date.now() + share;
        go(() => Date.now() < end);
      });
      return () => {
        clearTimeout(waiting);
      };
    }
    const waiting = requestIdleCallback((idle) => {
      go(() => idle.timeRemaining() > 1);
    });
    return () => {
      cancelIdleCallback(waiting);
    };
  }

  function go(left: () => boolean): void {
    if (work(left)) cancel = next();
  }

  return () => {
    cancel();
  };
}
