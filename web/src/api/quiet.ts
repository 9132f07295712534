// Questions that can wait, as those for news, wait for those of the view: the database would take longer for both.

const calm = 400; // milliseconds between looks whether anything is asked
const longest = 5_000; // milliseconds that a question waits

let underWay = 0;

/** Counts a question until it is answered. */
export async function counted<T>(question: Promise<T>): Promise<T> {
  underWay++;
  try {
    return await question;
  } finally {
    underWay--;
  }
}

/** Waits until nothing is asked, or for long enough. It ends with the signal. */
export async function whenQuiet(signal: AbortSignal): Promise<void> {
  const end = Date.now() + longest;
  do {
    await new Promise((go) => setTimeout(go, calm));
    signal.throwIfAborted();
  } while (underWay > 0 && Date.now() < end);
}
