/** A name as a word of a command that people paste into a shell. */
export function shellWord(name: string): string {
  return /^[\w.@%+=:,/-]+$/.test(name) ? name : `'${name.replaceAll("'", "'\\''")}'`;
}
