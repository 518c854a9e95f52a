/** The title of a fork: numbered on from the title's own number. */
export function forkTitle(title: string): string {
  const numbered = /^(.*) \(fork #(\d{1,9})\)$/s.exec(title);
  return numbered === null ? `${title} (fork #1)` : `${numbered[1]} (fork #${Number(numbered[2]) + 1})`;
}
