// The latest answers, for who comes back to a view.

/** What an answer is kept by: where nothing is said, it is not kept. */
interface Keeping {
  name: string;
  kept?: string;
}

interface Kept {
  value: unknown;
  beat: number; // at which it was asked for
}

const answers = new Map<string, Kept>();
const most = 8; // among them the ops of a step or two, which may be a million

export function keep({ name, kept }: Keeping, value: unknown, beat: number): void {
  if (kept === undefined) return;
  const key = `${kept} ${name}`;
  answers.delete(key); // the latest stands last
  answers.set(key, { value, beat });
  for (const oldest of answers.keys()) {
    if (answers.size <= most) break;
    answers.delete(oldest);
  }
}

export function keptOf(question: Keeping | null): Kept | undefined {
  return question?.kept === undefined ? undefined : answers.get(`${question.kept} ${question.name}`);
}
